"""What came out: a table on the screen while it is measured, results.json, and report.html with plots.

Ratios are to the first system: *speed* is throughput, or the inverse of duration (more is better), the median of
the runs' ratios; *processor* is the processor time of all servers for the same work (less is better).
"""
import html
import json
import os
import platform
import statistics

WIDTH = 34


class Results:
    def __init__(self, systems, options):
        self.systems = systems
        self.base = systems[0].name
        self.settings = {"repeat": options.repeat, "seconds": options.seconds, "size": options.size,
                         "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
                         "systems": {system.name: {"version": system.sql("SHOW server_version"), "servers": len(system.nodes)}
                                     for system in systems}}
        self.rows = []
        self.group = None

    def kind(self, name):
        system = next(system for system in self.systems if system.name == name)
        return "one" if len(system.nodes) == 1 else "cluster"

    def add(self, dataset, workload, measured):
        self.add_row({"dataset": dataset.name, "group": workload.group, "name": workload.name, "unit": workload.unit},
                     measured, workload.goal, workload.cpu_goal)

    def add_total(self, dataset):
        """One more row where a goal is for all queries together."""
        if not dataset.total_goal:
            return
        rows = [row for row in self.rows if row["dataset"] == dataset.name]
        measured = {}
        for system in self.systems:
            parts = [row["systems"][system.name] for row in rows]
            failed = next((part["error"] for part in parts if "error" in part), None)
            value = None if failed else sum(part["value"] for part in parts)
            measured[system.name] = {"error": failed} if failed else {
                "value": value, "runs": [value], "memory": None,
                "cpu": None if any(part["cpu"] is None for part in parts) else sum(part["cpu"] for part in parts)}
        self.add_row({"dataset": dataset.name, "group": rows[0]["group"], "name": "total", "unit": "s"},
                     measured, dataset.total_goal, {})

    def add_row(self, row, measured, goal, cpu_goal):
        base = measured[self.base]
        for name, values in measured.items():
            if name == self.base or "error" in values or "error" in base:
                continue
            speed = statistics.median(run / base_run for run, base_run in zip(values["runs"], base["runs"]))
            values["speed"] = speed if row["unit"] == "tps" else 1 / speed
            values["processor"] = values["cpu"] / base["cpu"] if values["cpu"] and base["cpu"] else None
            kind = self.kind(name)
            if kind in goal:
                values["goal"], values["reached"] = goal[kind], values["speed"] >= goal[kind]
            if kind in cpu_goal and values["processor"] is not None:
                values["processor_goal"], values["reached"] = cpu_goal[kind], values["processor"] <= cpu_goal[kind]
        row["systems"] = measured
        self.rows.append(row)
        self.print_row(row)

    def print_row(self, row):
        if row["group"] != self.group:
            self.group = row["group"]
            heads = "".join(f"{system.name:>12} {'speed':>6} {'cpu':>6} " if system.name != self.base
                            else f"{system.name:>12} " for system in self.systems)
            print(f"\n{self.group:<{WIDTH}} {heads}")
        cells = "".join(self.cell(name, values, row["unit"]) for name, values in row["systems"].items())
        print(f"{row['name']:<{WIDTH}} {cells}", flush=True)

    def cell(self, name, values, unit):
        if "error" in values:
            return f"{'failed':>12} " + (" " * 14 if name != self.base else "")
        text = f"{figure(values['value'], unit):>12} "
        if name != self.base:
            mark = {True: "+", False: "!", None: " "}[values.get("reached")]
            text += f"{ratio(values.get('speed')):>6}{mark}{ratio(values.get('processor')):>6} "
        return text

    def write(self, directory):
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "results.json"), "w") as file:
            json.dump({"settings": self.settings, "base": self.base, "results": self.rows}, file, indent=1)
        with open(os.path.join(directory, "report.html"), "w") as file:
            file.write(self.page())
        for group in self.groups():
            with open(os.path.join(directory, "".join(c if c.isalnum() else "-" for c in group) + ".svg"), "w") as file:
                file.write(self.plot(group))
        missed = [row for row in self.rows for values in row["systems"].values() if values.get("reached") is False]
        failed = [row for row in self.rows for values in row["systems"].values() if "error" in values]
        print(f"\n+ goal reached, ! goal missed ({len(missed)}); failed runs: {len(failed)}."
              f" The report is in {os.path.join(directory, 'report.html')}")
        for row in failed:
            for name, values in row["systems"].items():
                if "error" in values:
                    print(f"{row['name']} on {name}: {values['error']}")

    def groups(self):
        return list(dict.fromkeys(row["group"] for row in self.rows))

    def plot(self, group):
        """Bars of speed against the first system, whose line is at 1."""
        rows = [row for row in self.rows if row["group"] == group]
        others = [system.name for system in self.systems[1:]]
        colours = ("#2a7a5a", "#c9822b", "#5b6abf", "#a33c5c")
        height, left, scale = 16, 260, 380
        bars, y = [], 30
        for row in rows:
            bars.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{html.escape(row["name"])}</text>')
            for number, name in enumerate(others):
                speed = row["systems"][name].get("speed")
                label = "failed" if speed is None else f"{speed:.2f}"
                length = scale * min(speed or 0, 1.6)
                bars.append(f'<rect x="{left}" y="{y}" width="{length:.0f}" height="{height - 3}" fill="{colours[number % 4]}"/>'
                            f'<text x="{left + length + 5:.0f}" y="{y + 11}" class="value">{label}</text>')
                goal = row["systems"][name].get("goal")
                if goal:
                    x = left + scale * goal
                    bars.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{y - 1}" y2="{y + height - 2}" stroke="#000" stroke-width="2"/>')
                y += height
            y += 6
        legend = "".join(f'<rect x="{left + 130 * i}" y="6" width="10" height="10" fill="{colours[i % 4]}"/>'
                         f'<text x="{left + 14 + 130 * i}" y="15">{html.escape(name)}</text>' for i, name in enumerate(others))
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + scale * 1.6 + 60:.0f}" height="{y + 10}"'
                ' font-family="sans-serif" font-size="12"><style>.value{fill:#444;font-size:11px}</style>'
                f'{legend}<line x1="{left + scale}" x2="{left + scale}" y1="22" y2="{y}" stroke="#999" stroke-dasharray="4 3"/>'
                + "".join(bars) + "</svg>")

    def page(self):
        parts = ["<!DOCTYPE html><meta charset='utf-8'><title>Pando: benchmark</title>"
                 "<style>body{font-family:sans-serif;max-width:62em;margin:2em auto;color:#222}"
                 "table{border-collapse:collapse;font-size:13px}td,th{padding:3px 9px;text-align:right;border-bottom:1px solid #ddd}"
                 "td:first-child,th:first-child{text-align:left}.missed{color:#b02020}.reached{color:#207040}</style>"
                 "<h1>Pando beside PostgreSQL</h1>"
                 f"<p>{html.escape(self.settings['machine'])}; medians of {self.settings['repeat']}; "
                 f"speed is relative to <b>{html.escape(self.base)}</b> (dashed line; more is better), a black mark is the goal; processor is "
                 "the processor time of all servers for the same work (less is better).</p>"]
        for group in self.groups():
            parts.append(f"<h2>{html.escape(group)}</h2>{self.plot(group)}{self.table(group)}")
        return "".join(parts)

    def table(self, group):
        heads = "".join(f"<th>{html.escape(system.name)}</th>" + ("" if system.name == self.base else "<th>speed</th><th>processor</th>")
                        for system in self.systems)
        lines = [f"<table><tr><th></th>{heads}<th>memory</th></tr>"]
        for row in (row for row in self.rows if row["group"] == group):
            cells = []
            for name, values in row["systems"].items():
                if "error" in values:
                    cells.append("<td>failed</td>" + ("" if name == self.base else "<td></td><td></td>"))
                    continue
                cells.append(f"<td>{figure(values['value'], row['unit'])}</td>")
                if name != self.base:
                    style = {True: " class=reached", False: " class=missed", None: ""}[values.get("reached")]
                    cells.append(f"<td{style}>{ratio(values.get('speed'))}</td><td>{ratio(values.get('processor'))}</td>")
            memory = ", ".join(f"{name} {values['memory'] / 2**20:.1f} MB" for name, values in row["systems"].items()
                               if values.get("memory") is not None)
            lines.append(f"<tr><td>{html.escape(row['name'])}</td>{''.join(cells)}<td>{memory}</td></tr>")
        return "".join(lines) + "</table>"


def figure(value, unit):
    return f"{value:,.0f}/s" if unit == "tps" else f"{value:.3f} s"


def ratio(value):
    return "" if value is None else f"{value:.2f}"
