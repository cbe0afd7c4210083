package art

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// TestCompact reads envelopes of ART 0.5.23, with texts and keys in the table.
func TestCompact(t *testing.T) {
	const one = `{"messages_and_choices":[{"$0":"user","content":"$1"},{"finish_reason":"stop","index":0,"logprobs":null,"message":{"$0":"assistant","content":"$2"}}],"reward":1,"metadata":{"$3":"$3"}}`
	const strings3 = `{"$0":"role","$1":"why \"so\"?","$2":"because","$3":"$3"}`
	envelope := func(kind, data string) string {
		return fmt.Sprintf(`{"format":"art.trajectories","version":1,"kind":%q,"strings":%s,"data":%s}`, kind, strings3, data)
	}
	for name, c := range map[string]struct{ line, want string }{
		"a trajectory": {envelope("trajectory", one), `why "so"?/because/1`},
		"trajectories": {envelope("trajectories", "["+one+","+one+"]"), `why "so"?/because/1 why "so"?/because/1`},
		"a group":      {envelope("trajectory_group", `{"trajectories":[`+one+`]}`), `why "so"?/because/1`},
		"groups":       {envelope("trajectory_groups", `[{"trajectories":[`+one+`]},{"trajectories":[`+one+`]}]`), `why "so"?/because/1 why "so"?/because/1`},
		"none":         {envelope("trajectory_groups", `[]`), ``},
		"tokenized":    {envelope("tokenized_trajectory", one), `it holds "tokenized_trajectory"`},
		"a version":    {strings.Replace(envelope("trajectory", one), `"version":1`, `"version":2`, 1), `the version of the envelope is 2; 1 is known`},
		"a bomb": {fmt.Sprintf(`{"format":"art.trajectories","version":1,"kind":"trajectory","strings":{"$0":%q},"data":[%s"$0"]}`,
			strings.Repeat("x", 1<<20), strings.Repeat(`"$0",`, 300)), `its data have more than 256 MiB`},
	} {
		var got []string
		for p, err := range foreigntest.All(Importer, importers.File{Name: "x.jsonl", R: strings.NewReader(c.line), Size: int64(len(c.line)), Options: &importers.Options{}}) {
			if err != nil || p.Err != nil {
				got = append(got, fmt.Sprint(err, p.Err))
				continue
			}
			for _, x := range p.Items {
				got = append(got, fmt.Sprintf("%s/%s/%v", x.Row.Messages[0].Content, x.Row.Messages[1].Content, *x.Row.Reward))
			}
		}
		if text := strings.Join(got, " "); text != c.want && (strings.HasPrefix(c.want, "why") || !strings.Contains(text, c.want)) {
			t.Errorf("%s: %.300s, want %s", name, text, c.want)
		}
	}
}
