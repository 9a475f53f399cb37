"""The report's look: readable on a phone, in the dark and on paper."""

from __future__ import annotations

__all__ = ["CSS"]

CSS = """
:root { color-scheme: light dark; --page: #f5f4f0; --card: #fff; --ink: #1c1c1e; --soft: #57575c;
  --line: #dcdbd6; --accent: #00598c; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16171a; --card: #212327; --ink: #ececec; --soft: #b3b3b8; --line: #3a3c42;
    --accent: #7cc4f2; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 17px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 2.5rem 1rem 3rem; }
header p, footer p, .note { max-width: 46rem; }
h1 { font-size: clamp(1.7rem, 5vw, 2.5rem); line-height: 1.15; margin: 0 0 .8rem; }
h2 { font-size: 1.45rem; margin: 2.8rem 0 .9rem; }
h3 { font-size: 1.08rem; margin: 0 0 .3rem; }
p { margin: 0 0 .7rem; }
.brand { color: var(--accent); font-weight: 700; letter-spacing: .02em; margin: 0 0 .3rem; }
.soft, .note, small { color: var(--soft); }
.note { font-size: .9rem; margin-top: .7rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 1rem; margin: 0; min-width: 0; }
.results { display: grid; gap: 1rem; margin-top: 1.6rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 270px), 1fr)); }
.results p { margin: 0; }
.results .big { font-size: 1.35rem; font-weight: 700; margin: .15rem 0; }
.grid { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr)); }
figure { margin: 0; }
figcaption p { font-size: .95rem; margin: 0; color: var(--soft); }
.plot { background: #fff; border-radius: 6px; padding: .4rem; margin: .4rem 0 .8rem; }
svg { display: block; width: 100%; max-width: 600px; height: auto; margin: 0 auto; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
svg text { font-family: inherit; }
.wide { grid-column: 1 / -1; }
.round { row-gap: 1rem; }
.wide .plots, .round { display: grid; column-gap: 1.6rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr)); }
.round h3:not(:first-child) { margin-top: 1.2rem; }
.round p { margin-bottom: .35rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; padding: .4rem .8rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .55rem .6rem; text-align: right; vertical-align: top; }
thead th { font-size: .85rem; line-height: 1.25; vertical-align: bottom; color: var(--soft); }
th:first-child { text-align: left; min-width: 11rem; padding-left: 0; }
tbody tr { border-top: 1px solid var(--line); }
th small { display: block; font-weight: 400; line-height: 1.3; }
dl { display: grid; gap: .8rem 1.6rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); }
dt { font-weight: 700; }
dd { margin: 0; color: var(--soft); }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem;
  margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .95rem; }
@media (max-width: 520px) {
  body { font-size: 16px; }
  main { padding: 1.4rem .5rem 2rem; }
  .card { padding: .8rem .7rem; }
  .plot { margin: .2rem -.45rem .7rem; padding: .2rem; }
}
@media print { body { background: #fff; } .card { break-inside: avoid; } }
"""
