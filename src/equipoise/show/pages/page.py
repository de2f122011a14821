"""The page around a report: one file, no network, light or dark as the reader's."""

from __future__ import annotations

import base64
import hashlib

from equipoise.show.pages.markup import element, text
from equipoise.show.palette import DARK, LIGHT, style_sheet_colours

COLOURS = f"""
:root{{color-scheme:light dark;{style_sheet_colours(LIGHT)}}}
@media (prefers-color-scheme:dark){{:root{{{style_sheet_colours(DARK)}}}}}"""
STYLE = """
*{box-sizing:border-box}
body{margin:0 auto;max-width:1200px;padding:24px 20px 48px;background:var(--paper);
color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .3rem}
h2{font-size:1.1rem;margin:2.2rem 0 .6rem}
.sentence{font-size:1.15rem;margin:.2rem 0 0}
.good{color:var(--good);font-weight:600}.bad{color:var(--bad);font-weight:600}
.plots,.columns{display:grid;gap:20px 28px;
grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));align-items:start}
figure{margin:0;min-width:0}
figcaption{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:.9rem;margin-bottom:4px}
.legend{display:flex;flex-wrap:wrap;gap:2px 12px;color:var(--soft)}
.legend i{display:inline-block;width:18px;border-top:3px solid;margin-right:5px;
vertical-align:middle}
.legend i.reference,.legend i.dashed{border-top-style:dashed}
.legend i.sole{height:10px;border:1px solid var(--soft);background:var(--fill)}
svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font-size:11.5px}
svg path{fill:none}
.grid{stroke:var(--rule)}.event{stroke:var(--soft);stroke-dasharray:2 3}
.cursor{stroke:var(--ink)}
.line{stroke:currentColor;stroke-width:1.6;stroke-linejoin:round}
.dot{fill:currentColor}
svg path.sole{fill:var(--fill);stroke:var(--soft)}
.c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}
.c4{color:var(--c4)}.c5{color:var(--c5)}
.reference{color:var(--soft)}.line.reference,.line.dashed{stroke-dasharray:6 4}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.95rem}
th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--rule);
vertical-align:top}
tbody th{font-weight:400;color:var(--soft)}
thead th{font-weight:600}
td{font-variant-numeric:tabular-nums}
th,thead~tbody td{overflow-wrap:normal}
ul{margin:0;padding-left:1.2rem}
pre{background:var(--fill);padding:10px 12px;border-radius:6px;white-space:pre-wrap;
margin:0;font-size:.9rem}
footer{margin-top:2.5rem;color:var(--soft);font-size:.85rem}
@media (max-width:600px){body{padding:16px 12px 32px}svg text{font-size:15px}}
@media print{body{max-width:none}figure{break-inside:avoid}}
"""


def page(title: str, *body: str, style: str = "", script: str = "") -> str:
    """Return a whole HTML document that fetches nothing from anywhere.

    Args:
        title: Of the document.
        body: Markup.
        style: More of the style sheet.
        script: A module that runs when all is there; browsers run no other.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if script:
        digest = hashlib.sha256(script.encode()).digest()
        policy += f"; script-src 'sha256-{base64.b64encode(digest).decode('ascii')}'"
        body = (*body, element("script", script, type="module"))
    head = "".join(
        [
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            element("title", text(title)),
            element("style", COLOURS, STYLE, style),
        ]
    )
    document = element(
        "html",
        element("head", head),
        "\n",
        element("body", element("main", *body)),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{document}\n"


def section(heading: str, *body: str) -> str:
    """Return a part of the page, or nothing if there is nothing in it."""
    content = "".join(body)
    return element("section", element("h2", text(heading)), content) if content else ""
