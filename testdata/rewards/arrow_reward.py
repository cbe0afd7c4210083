"""A reward program: reads and writes Arrow record batches."""
import sys

import pyarrow as pa
import pyarrow.compute as pc

schema = pa.schema([("id", pa.string()), ("reward", pa.float64())])
with pa.ipc.open_stream(sys.stdin.buffer) as asked, pa.ipc.new_stream(sys.stdout.buffer, schema) as answers:
    for rows in asked:
        short = pc.less(pc.utf8_length(rows["answer"]), 100)
        answers.write_batch(pa.record_batch([rows["id"], short.cast(pa.float64())], schema=schema))
        sys.stdout.buffer.flush()
