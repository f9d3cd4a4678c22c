import json

from whatwhere.theory import tables


def test_tables_are_json_and_say_none_where_no_temperature_serves():
    rows = tables.beta_rows()
    json.dumps(rows, allow_nan=False)
    none = [(row["theta"], row["n"]) for row in rows if row["least"] is None]
    assert none == [(0.0115, 50), (0.0115, 100), (0.0115, 146)]
    assert {row["head"] for row in rows} == {"index", "index, raw task inputs", "retrieval"}


def test_discrepancy_tables_hold_each_angle_and_length_once():
    for rows in (tables.index_discrepancy_rows(), tables.retrieval_discrepancy_rows()):
        keys = [(row["theta"], row["n"]) for row in rows]
        assert len(keys) == len(set(keys))
        json.dumps(rows, allow_nan=False)
