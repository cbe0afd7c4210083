"""The reward gives each attempt a number. A row has the attempt's "answer", its
"messages", and the "example" as the task file has it
{{- with .Tasks}}: {{range $i, $c := .Columns}}{{if $i}}, {{end}}{{$c}}{{end}}{{end}}."""
{{if .Numbers}}
import re
{{end}}
from rollmill import reward
{{if .Numbers}}

def last_number(text):
    numbers = re.findall(r"-?\d+(?:\.\d+)?", str(text).replace(",", ""))
    return float(numbers[-1]) if numbers else None

{{end}}
@reward
def score(row):
{{- if .Numbers}}
    expected = last_number(row["example"][{{python .AnswerKey}}])
    return float(last_number(row["answer"]) == expected)
{{- else if .AnswerKey}}
    expected = str(row["example"][{{python .AnswerKey}}]).strip()
    return float(expected.casefold() in row["answer"].casefold())  # an answer may say more
{{- else}}
    return float(bool(row["answer"].strip()))  # there is no reference answer: say here what is good
{{- end}}
