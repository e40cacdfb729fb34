#!/usr/bin/env python3
"""Times the same work on several systems, side by side, and reports ratios to the first.

    bench.py --system plain=CONNINFO --system cluster=CONNINFO ... [--quick] [--only TEXT] [--output DIR]

Each workload runs on all systems in turn, then again; transactions take turns of a second: what disturbs
the machine disturbs all of them. Figures are medians. `./pando bench` starts servers and calls this; any
server that speaks the same SQL interface can be one more column.
"""
import argparse
import statistics
import sys

import report
from system import Failed, System
from workloads import events, facts, keyed, moving, partitioned, retail, tpcb, tpch

TURN = 1  # second
DATASETS = (keyed.DATASET, tpcb.DATASET, facts.DATASET, moving.DATASET, partitioned.DATASET, events.DATASET, tpch.PAPER, tpch.SPREAD, retail.STAR,
            retail.SPREAD)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", action="append", required=True, metavar="NAME=CONNINFO",
                        help="a system; the first is what others are compared with")
    parser.add_argument("--quick", action="store_true", help="two minutes: fewer workloads, less data, one run")
    parser.add_argument("--only", default="", help="only workloads with this in dataset, group or name")
    parser.add_argument("--repeat", type=int, help="runs of each (3)")
    parser.add_argument("--seconds", type=float, help="length of a run of transactions (10)")
    parser.add_argument("--size", type=float, help="amount of data (1)")
    parser.add_argument("--output", default="bench-results", help="directory of the report")
    options = parser.parse_args()
    options.repeat = options.repeat or (1 if options.quick else 3)
    options.seconds = options.seconds or (2 if options.quick else 10)
    options.size = options.size or (0.1 if options.quick else 1)
    return options


def chosen(dataset, options):
    return [workload for workload in dataset.workloads
            if (workload.quick or not options.quick)
            and options.only in f"{dataset.name}: {workload.group}: {workload.name}"]


def run_workload(workload, systems, options):
    """Runs per system; a system that fails a workload has the error's text instead."""
    runs = {system.name: [] for system in systems}
    errors = {}

    def attempt(system, work):
        if system.name not in errors:
            try:
                return work()
            except Failed as failure:
                errors[system.name] = str(failure)
        return None

    for number in range(options.repeat):
        done = {system: attempt(system, lambda: workload.run(system, options.size)) for system in systems}
        if workload.unit == "tps":
            take_turns([transactions for transactions in done.values() if transactions], options.seconds, number)
            done = {system: attempt(system, lambda: transactions.end()) for system, transactions in done.items()}
        for system, measure in done.items():
            runs[system.name].append(measure)
    return {name: {"error": errors[name]} if name in errors else summary(measures) for name, measures in runs.items()}


def take_turns(running, seconds, first):
    """Each of the running Transactions goes for that many seconds, one at a time, another one first in each round."""
    rounds = max(1, round(seconds / TURN))
    for number in range(first, first + rounds):
        for place in range(len(running)):
            running[(place + number) % len(running)].go(seconds / rounds)


def summary(measures):
    def median(values):
        return None if None in values else statistics.median(values)
    memory = [measure.memory for measure in measures if measure.memory is not None]
    return {"value": median([measure.value for measure in measures]), "cpu": median([measure.cpu for measure in measures]),
            "runs": [measure.value for measure in measures], "memory": max(memory, default=None)}


def main():
    options = parse_arguments()
    if not any(chosen(dataset, options) for dataset in DATASETS):
        raise Failed(f"no workload has \"{options.only}\" in its name")
    systems = [System(*text.split("=", 1)) for text in options.system]
    results = report.Results(systems, options)
    for dataset in DATASETS:
        workloads = chosen(dataset, options)
        if not workloads:
            continue
        for system in systems:
            print(f"... {dataset.name} on {system.name}", file=sys.stderr, flush=True)
            dataset.prepare(system, options.size)
        for workload in workloads:
            results.add(dataset, workload, run_workload(workload, systems, options))
        if len(workloads) == len(dataset.workloads):
            results.add_total(dataset)
    results.write(options.output)


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"bench: {failure}")
