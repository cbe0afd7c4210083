# The reward, in any language: for each line of JSON, an attempt with its "id" and
# "answer", it prints one line with the same id and a number.
while IFS= read -r line; do
  id=$(printf '%s\n' "$line" | sed -E 's/^\{"id": ?"([^"]*)".*/\1/')
  case $(printf '%s\n' "$line" | sed -E 's/.*"answer": ?"[^"]*([A-C][1-3])[^"]*".*/\1/') in
    A1 | A3 | C1 | C3) reward=1 ;;
    [A-C][1-3]) reward=0.2 ;;
    *) reward=0 ;;
  esac
  printf '{"id": "%s", "reward": %s}\n' "$id" "$reward"
done
