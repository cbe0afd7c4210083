#!/bin/sh
# An agent in four lines: ask.sh ROUTE BODY sends the body once to the route of
# the OpenAI URL in its environment.
set -eu
read -r task
exec curl -sSN --fail-with-body -H "Content-Type: application/json" -d "$2" "$OPENAI_BASE_URL/$1" >&2
