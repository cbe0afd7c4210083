# The reward, in any language: for each line of JSON, an attempt with its "id", its
# "answer" and the "example", it prints one line with the same id and a number.
value() { printf '%s\n' "$line" | sed -E "s/^.*$1\"answer\": ?\"([^\"]*)\".*/\1/"; }

while IFS= read -r line; do
  id=$(printf '%s\n' "$line" | sed -E 's/^\{"id": ?"([^"]*)".*/\1/')
  case " $(value '') " in
    *[!0-9-]"$(value '"example": ?\{[^}]*')"[!0-9]*) reward=1 ;;
    *) reward=0 ;;
  esac
  printf '{"id": "%s", "reward": %s}\n' "$id" "$reward"
done
