"""Logs of Inspect AI and databases of Inspect Scout as rows that rollmill imports, and back.

    python -m rollmill.inspect LOG... > rows.jsonl            # .eval and .json files, or folders of them
    python -m rollmill.inspect --scout TRANSCRIPTS > rows.jsonl
    rollmill import --from rows --in rows.jsonl --out data/imported

    rollmill export --in data/curated --to rows --out exported
    python -m rollmill.inspect --to-scout TRANSCRIPTS exported/rows.jsonl

Inspect's own packages read and write the files: pip install inspect-ai, and inspect-scout for databases.

A sample is a row, and its epochs are the attempts at one example. Its messages are the main path, and the events of
model calls give each answer its call: model, sampling, tools, usage, log probabilities. Calls that are not on the path,
as of subagents, are branches; after the last answer of the path they do not train. Calls of scorers are counted, not
read. One scorer is the reward; several are rewards without a total. What has no column is in the row's metadata.
"""
