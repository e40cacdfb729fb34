"""The workloads, in the order of the report.

A *dataset* is what must be there before its workloads run: `prepare(system, size)` makes it from nothing.
A *workload* is one line of the report: `run(system, size)` does its work once and gives a Measure, or, where
its unit is "tps", starts the Transactions that are measured. It may be repeated. Size 1 is the full benchmark.
"""
from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Workload:
    group: str
    name: str
    unit: str  # "tps": more is better; "s": less is
    run: Callable
    quick: bool = False  # part of the quick mode
    goal: dict = field(default_factory=dict)  # least speed against plain, by kind: {"one": 0.92, "cluster": 0.4}
    cpu_goal: dict = field(default_factory=dict)  # most processor time against plain, by kind


@dataclass
class Dataset:
    name: str
    prepare: Callable
    workloads: list
    total_goal: dict = field(default_factory=dict)  # of all its workloads together
