"use strict";
/* Every script adds its part to this object; `data` is what the page was made from. */
globalThis.whatwhere = { data: JSON.parse(document.getElementById("data").textContent) };
