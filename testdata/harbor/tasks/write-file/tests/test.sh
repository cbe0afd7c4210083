#!/bin/bash
# The reward is 1 for the word, and 0 for a file with anything else, or none.
if [ "$(cat /app/hello.txt 2>/dev/null)" = hello ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
