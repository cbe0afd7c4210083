# Answers one request. The folder jobs/TOKEN is a batch; the file done in it says that it was trained.
read -r request
field() { printf '%s' "$request" | sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }
trained() { find jobs -name done | wc -l | tr -d ' '; }
mkdir -p jobs
job=jobs/$(field token)$(field job)
case $(field request) in
begin) echo '{"step":'"$(trained)"'}' ;;
submit)
  if mkdir "$job" 2>/dev/null; then # fails if this batch was sent before
    echo '{"job":"'"$(field token)"'"}'
    ls "$(field curated)"/*.parquet >&2 # train on these
    echo '{"metrics":{"loss":0.5}}'
    touch "$job/done"
  fi ;;
esac
case $(field request) in
submit | status | resolve)
  if [ -e "$job/done" ]; then
    echo '{"state":"completed","step":'"$(trained)"'}'
  elif [ -d "$job" ]; then
    echo '{"state":"unknown","message":"it began and did not end"}'
  else
    echo '{"state":"failed","clean":true,"message":"it never began"}'
  fi ;;
esac
