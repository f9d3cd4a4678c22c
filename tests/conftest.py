"""What holds for all tests."""

from hypothesis import settings

settings.register_profile("whatwhere", deadline=None)  # machines are shared: a slow example says nothing
settings.load_profile("whatwhere")
