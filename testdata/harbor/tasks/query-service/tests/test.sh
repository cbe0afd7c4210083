#!/bin/bash
# The service still runs when the tests do.
expected=$(wget -qO- http://127.0.0.1:8080/words | wc -l)
if [ "$((expected))" = "$(($(cat /app/count.txt 2>/dev/null || echo -1)))" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
