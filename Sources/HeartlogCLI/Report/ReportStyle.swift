/// The style sheet of the evidence report.
enum ReportStyle {
  /// Every text color has a contrast of at least 4.5 on both backgrounds, in light and in dark; nothing is said by color alone. Paper is
  /// always light.
  static let sheet: StaticString = """
    :root {
      color-scheme: light dark;
      --paper: #ffffff; --band: #f3f4f6; --ink: #1b1b1f; --faint: #54565c; --line: #83868c;
      --accent: #8f1740; --good: #17602a; --bad: #a31515; --mark: #1f5fa8;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --paper: #141417; --band: #212126; --ink: #ececf0; --faint: #b3b5bc; --line: #80838a;
        --accent: #ff9db6; --good: #8bd796; --bad: #ff9c94; --mark: #7db8ff;
      }
    }
    @media print {
      :root {
        color-scheme: light;
        --paper: #ffffff; --band: #f3f4f6; --ink: #1b1b1f; --faint: #54565c; --line: #83868c;
        --accent: #8f1740; --good: #17602a; --bad: #a31515; --mark: #1f5fa8;
      }
    }
    @page { size: A4; margin: 16mm 14mm; }
    * { box-sizing: border-box; }
    body {
      margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem; background: var(--paper); color: var(--ink);
      font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
    }
    h1, h2, h3 { line-height: 1.25; margin: 2rem 0 0.5rem; break-after: avoid; }
    h1 { font-size: 1.7rem; margin-top: 0; }
    h2 { font-size: 1.3rem; border-bottom: 1px solid var(--line); padding-bottom: 0.2rem; }
    h3 { font-size: 1.05rem; }
    p, ul, dl { margin: 0.5rem 0; }
    a { color: var(--accent); }
    nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; list-style: none; padding: 0; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; }
    dt, caption, .faint, footer { color: var(--faint); }
    dd { margin: 0; overflow-wrap: anywhere; }
    table { border-collapse: collapse; width: 100%; margin: 0.75rem 0 1.25rem; font-size: 0.9rem; }
    caption { text-align: left; padding-bottom: 0.3rem; }
    th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.6rem 0.2rem 0; font-weight: normal; }
    th, td { overflow-wrap: anywhere; border-bottom: 1px solid var(--band); }
    thead th { font-weight: 600; border-bottom: 1px solid var(--line); overflow-wrap: normal; }
    tbody + tbody { border-top: 1px solid var(--line); }
    tr { break-inside: avoid; }
    .n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
    time { white-space: nowrap; }
    bdi { white-space: pre-wrap; }
    .good { color: var(--good); font-weight: 600; }
    .bad { color: var(--bad); font-weight: 600; }
    code, pre { font: 0.85em/1.4 ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
    pre { background: var(--band); padding: 0.5rem 0.75rem; white-space: pre-wrap; break-inside: avoid; }
    svg { display: block; width: 100%; height: auto; margin: 0.5rem 0; break-inside: avoid; }
    svg text { fill: var(--ink); font: 11px system-ui, "DejaVu Sans", sans-serif; }
    svg .axis { stroke: var(--line); stroke-width: 1; }
    svg .gap { stroke: var(--line); stroke-width: 1; stroke-dasharray: 2 3; }
    svg .added { fill: var(--mark); }
    svg .changed { fill: none; stroke: var(--mark); stroke-width: 1; }
    svg .removed { fill: url(#hatch); stroke: var(--mark); stroke-width: 1; }
    svg .hatch { stroke: var(--mark); stroke-width: 1.5; }
    @media print { body { max-width: none; padding: 0; font-size: 9.5pt; } nav { display: none; } }

    """
}
