"""Events as GitHub's archive has them: JSON loaded under a trigram index, and a dashboard's query."""
import os
import subprocess
import tempfile

from . import Dataset, Workload

GENERATOR = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "github-events.pl")

DASHBOARD = """
SELECT (data->>'created_at')::date, sum(jsonb_array_length(data->'payload'->'commits'))
FROM events
WHERE jsonb_path_query_array(data, '$.payload.commits[*].message')::text ILIKE '%postgres%'
GROUP BY 1 ORDER BY 1 ASC;"""


def data_file(size):
    count = int(100_000 * size)
    path = os.path.join(tempfile.gettempdir(), f"pando-bench-events-{os.getuid()}-{count}.txt")
    if not os.path.exists(path):
        with open(path + ".part", "w") as file:
            lines = subprocess.run(["perl", GENERATOR, str(count)], capture_output=True, text=True, check=True).stdout
            file.write(lines.replace("\\", "\\\\"))
        os.rename(path + ".part", path)
    return path


def create(system):
    system.sql("CREATE EXTENSION IF NOT EXISTS pg_trgm; DROP TABLE IF EXISTS events;"
               "CREATE TABLE events (event_id text DEFAULT md5(random()::text) PRIMARY KEY, data jsonb)")
    system.distribute("events", "event_id")
    system.sql("CREATE INDEX ON events USING gin"
               " ((jsonb_path_query_array(data, '$.payload.commits[*].message')::text) gin_trgm_ops)")


def prepare(system, size):
    create(system)
    system.copy_in("COPY events (data) FROM STDIN", data_file(size))
    system.vacuum("events")


def copy(system, size):
    create(system)
    measure = system.copy_in("COPY events (data) FROM STDIN", data_file(size))
    system.vacuum("events")
    return measure


DATASET = Dataset("events", prepare, [
    Workload("loading", "COPY, JSON with a trigram index", "s", copy),
    Workload("analysis", "dashboard query", "s", lambda system, size: system.timed(DASHBOARD * 10), quick=True),
])
