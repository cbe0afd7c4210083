#!/bin/bash
# Two rewards: whether the task's own example is right, and the share of others.
right=0
for numbers in "1 2 3=3" "100 20 3=100" "7=7" "-5 -10=-5"; do
  [ "$(sh /app/largest.sh ${numbers%=*})" = "${numbers#*=}" ] && right=$((right + 1))
done
shares=(0 0.25 0.5 0.75 1)
example=$([ "$(sh /app/largest.sh 9 10 8)" = 10 ] && echo 1 || echo 0)
printf '{"reward": %s, "others": %s}\n' "$example" "${shares[right]}" > /logs/verifier/reward.json
