"""The style sheet of `check --format html`: light and dark, on a phone and on paper."""

STYLE = """
:root {
  --paper: #fff; --ink: #1c2128; --faint: #59636e; --line: #d6dbe1; --code: #f5f7f9;
  --good: #116b2e; --bad: #b3261e; --doubt: #8a5300; --mark: #ffd9d6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --ink: #e3e7eb; --faint: #9aa4af; --line: #363d46; --code: #1c2229;
    --good: #5bc77c; --bad: #ff8a80; --doubt: #e2b052; --mark: #6b2420;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: 1rem;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p, ul { margin: .5rem 0; }
ul { padding-left: 1.25rem; }
a { color: inherit; }
code, pre, .number, .no { font-family: ui-monospace, Menlo, Consolas, monospace;
  font-size: .875rem; }
code { overflow-wrap: break-word; }
.faint, figcaption, .note { color: var(--faint); }
.good { color: var(--good); } .bad { color: var(--bad); } .doubt { color: var(--doubt); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
thead th { color: var(--faint); font-weight: 500; font-size: .875rem; }
.problem { border-left: 4px solid var(--bad); padding: .25rem 0 .25rem .75rem; margin: .75rem 0;
  break-inside: avoid; }
.problem.warning { border-color: var(--doubt); }
.problem p { margin: .25rem 0; overflow-wrap: anywhere; }
.listing { background: var(--code); border-radius: 4px; padding: .5rem 0; margin: .5rem 0;
  overflow-x: auto; }
.listing ol { list-style: none; margin: 0; padding: 0; min-width: max-content; }
.listing li { display: grid; grid-template-columns: 3.5rem auto 1fr; padding-right: .75rem;
  border-left: 3px solid transparent; }
.listing li.computed { border-color: var(--good); }
.listing .no { color: var(--faint); text-align: right; padding-right: .75rem;
  user-select: none; }
.listing pre { margin: 0; }
.listing .times { color: var(--faint); padding-left: 1rem; font-size: .875rem; }
.listing .note { grid-column: 2 / -1; font-size: .875rem; max-width: min(60rem, 75vw); }
.listing .note.bad { color: var(--bad); } .listing .note.doubt { color: var(--doubt); }
mark { background: var(--mark); color: inherit; border-radius: 2px; }
.plots { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; width: 20rem; max-width: 100%; break-inside: avoid; }
figure svg { width: 100%; height: auto; background: var(--code); border-radius: 4px;
  display: block; }
figure text { fill: var(--faint); font: 10px system-ui, sans-serif; }
.curve { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.axis { stroke: var(--faint); stroke-width: 1; stroke-dasharray: 3 3; }
.point { fill: var(--doubt); }
figcaption { font-size: .875rem; margin-top: .25rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  th, td { display: block; border: 0; padding: .1rem 0; overflow-wrap: anywhere; }
  td[data-label] { display: flex; justify-content: space-between; gap: 1rem; }
  td:empty { display: none; }
  td[data-label]::before { content: attr(data-label); color: var(--faint); }
  .listing li { grid-template-columns: 2.5rem auto 1fr; }
}
@media print {
  :root {
    --paper: #fff; --ink: #000; --faint: #444; --line: #bbb; --code: #fff;
    --good: #0a4d20; --bad: #8c1d18; --doubt: #6b4100; --mark: #ddd;
  }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  .listing { border: 1px solid var(--line); overflow: visible; }
  .listing ol { min-width: 0; }
  .listing pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  h2, h3 { break-after: avoid; }
  tr, li { break-inside: avoid; }
}
"""
