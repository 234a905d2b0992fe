"""The page's one style sheet: light, dark and paper; the plots take their colours from its variables."""

from __future__ import annotations

# Colours after Okabe and Ito, told apart by the colour-blind; plots also differ in marker shape and line.
_LIGHT = """--page: #ffffff; --ink: #1b1f24; --quiet: #56606b; --rule: #d3d9df; --band: #f4f6f8; --best: #e2f1ea;
  --encrypted: #0072b2; --plain: #e69f00; --alone: #7a828c; --parties: #0072b2; --aggregator: #cc79a7; --bound: #d55e00;
  --series-1: #0072b2; --series-2: #d55e00; --series-3: #008a64; --series-4: #cc79a7; --series-5: #8a6d00;
  --series-6: #6a51a3;
  --alarm: #b00020; --alarm-ink: #ffffff; --caution: #fff3cd; --caution-ink: #4d3800;"""
_DARK = """--page: #15181c; --ink: #e7eaee; --quiet: #a3adb8; --rule: #3a424b; --band: #1f242a; --best: #173d2e;
  --encrypted: #56b4e9; --plain: #e69f00; --alone: #9aa3ad; --parties: #56b4e9;
  --aggregator: #e08cbb; --bound: #ff8a3d;
  --series-1: #56b4e9; --series-2: #ff8a3d; --series-3: #2fc79a; --series-4: #e08cbb; --series-5: #f0e442;
  --series-6: #b79bf0;
  --alarm: #c8102e; --alarm-ink: #ffffff; --caution: #4a3a06; --caution-ink: #ffe9a8;"""
STYLE = (
    """
:root {
  color-scheme: light dark;
  """
    + _LIGHT
    + """
}
@media (prefers-color-scheme: dark) {
  :root {
    """
    + _DARK
    + """
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--rule); }
p, ul { max-width: 46rem; margin: .5rem 0; }
li { margin: .2rem 0; }
.when { color: var(--quiet); overflow-wrap: anywhere; }
.verdict { font-size: 1.2rem; line-height: 1.45; margin: 1rem 0; max-width: none; }
.alarm { background: var(--alarm); color: var(--alarm-ink); padding: 1rem 1.25rem; font-size: 1.1rem; max-width: none; }
.alarm strong { font-size: 1.3rem; display: block; }
.caution { background: var(--caution); color: var(--caution-ink); padding: .75rem 1.25rem; max-width: none; }
.brief { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.25rem; margin: 1rem 0; }
.brief dt { color: var(--quiet); font-weight: 600; }
.brief dd { margin: 0; max-width: 46rem; }
@media (max-width: 36rem) { .brief { grid-template-columns: 1fr; } .brief dd { margin-bottom: .4rem; } }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .95rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
thead th { color: var(--quiet); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 500; overflow-wrap: anywhere; min-width: 7rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-left: .9rem; }
thead .number { white-space: normal; }
.best { background: var(--best); font-weight: 700; }
.small { font-size: .85rem; }
.note { color: var(--quiet); font-size: .9rem; }
figure { margin: 1.25rem 0; }
figure svg { display: block; width: 100%; height: auto; max-width: 56rem; }
.sheet img { display: block; width: 10rem; max-width: none; image-rendering: pixelated; }
.sheet p { font-size: .8rem; font-weight: 400; margin: .3rem 0 0; white-space: nowrap; }
pre {
  background: var(--band); padding: .75rem 1rem; overflow-x: auto;
  font: .9rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace;
}
code { font: .92em ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
@media print {
  :root {
    color-scheme: light;
    --page: #ffffff; --ink: #000000; --quiet: #444444; --rule: #bbbbbb; --band: #f2f2f2; --best: #e2f1ea;
    --encrypted: #0072b2; --plain: #e69f00; --alone: #7a828c; --parties: #0072b2; --aggregator: #cc79a7;
    --bound: #d55e00;
    --series-1: #0072b2; --series-2: #d55e00; --series-3: #008a64; --series-4: #cc79a7; --series-5: #8a6d00;
    --series-6: #6a51a3;
    --caution: #fff3cd; --caution-ink: #000000;
  }
  body { padding: 0; max-width: none; font-size: 10.5pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .wide { overflow: visible; }
  .small { font-size: .7rem; }
  h2, caption { break-after: avoid; }
  figure, tr, .alarm, .caution, pre { break-inside: avoid; }
  pre { white-space: pre-wrap; }
}
"""
)

# The same colours inside one output of a notebook, whose own theme says whether it is dark; with its own background, so
# that it is legible in any. Figures and tables keep to the width they are given.
NOTEBOOK_STYLE = (
    ".hekat-run { "
    + _LIGHT
    + """
  background: var(--page); color: var(--ink); padding: .5rem .75rem; max-width: 62rem; }
body[data-jp-theme-light="false"] .hekat-run, body.vscode-dark .hekat-run, html[theme="dark"] .hekat-run { """
    + _DARK
    + """ }
.hekat-run .verdict { font-size: 1.1rem; }
.hekat-run .alarm { background: var(--alarm); color: var(--alarm-ink); padding: .5rem .75rem; }
.hekat-run .wide { overflow-x: auto; }
.hekat-run table { border-collapse: collapse; color: var(--ink); background: none; margin: .5rem 0; }
.hekat-run caption { text-align: left; font-weight: 600; color: var(--ink); }
.hekat-run th, .hekat-run td { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--rule); text-align: left; }
.hekat-run tr { background: none !important; }
.hekat-run .number { text-align: right; font-variant-numeric: tabular-nums; }
.hekat-run .best { background: var(--best); font-weight: 700; }
.hekat-run .note { color: var(--quiet); font-size: .9em; }
.hekat-run figure { margin: 1rem 0; }
.hekat-run svg { display: block; width: 100%; height: auto; max-width: 52rem; }
"""
)
