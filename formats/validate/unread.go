package validate

import (
	"bytes"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/training"
)

// unread is what a row keeps in its metadata because no column holds it, and which
// changes what trains: the first member of each sort, "" for none; and which attempt and
// call of it the source says that it is.
type unread struct {
	mask, weight, content, media, history, arguments string

	attempt, index uint64 // hashes; 0 for nothing
}

var nothing unread

// keeps returns what a valid wide row keeps of that sort.
func (r *Row) keeps() *unread {
	t := r.wide()
	if t == nil || !isKept(t) {
		return &nothing
	}
	if !r.hasUnread {
		r.unread, r.hasUnread = unreadOf(t), true
	}
	return &r.unread
}

// isKept reports whether metadata are what an importer kept of a record: those of an
// attempt that rollout made are its agent's own, and beside the conversation.
func isKept(t *formats.Trajectory) bool { return t.Metadata != "" && t.Attempts == 0 }

// Unread returns the first member that a row keeps in its metadata and that changes what
// trains, "" for none, without those of findings that are accepted.
func (a Accepted) Unread(t *formats.Trajectory) string {
	if !valid(t.Status) || !isKept(t) {
		return ""
	}
	u := unreadOf(t)
	for _, of := range [...]struct{ finding, member string }{{"unread_mask", u.mask}, {"unread_content", u.content},
		{"content_parts", u.media}, {"unread_history", u.history}, {"no_arguments", u.arguments}} {
		if of.member != "" && !a[of.finding] {
			return of.member
		}
	}
	return ""
}

// ofUnread returns a check of a sort of unread members.
func ofUnread(sort func(*unread) string) func(*Count, *Row) {
	return ofWide(func(c *Count, r *Row, _ *formats.Trajectory) {
		if name := sort(r.keeps()); name != "" {
			c.Add(r, name, "%s", name)
		}
	})
}

func unreadOf(t *formats.Trajectory) (u unread) {
	const longest = 64 // of the values of ids
	metadata := formats.Bytes(t.Metadata)
	embedded := bytes.Contains(metadata, embeds) // most rows have none, and need no walk
	spelled := !OnlyTokens(t)                    // else the ids have the history
	for key, v := range jsontext.Members(metadata) {
		name, says := formats.Text(key), wordsOf(key)
		if scalar := len(v) <= longest && v[0] != '{' && v[0] != '['; scalar && says.index && u.index == 0 {
			u.index = max(xxh3.Hash(v), 1)
		} else if scalar && says.attempt != 0 {
			u.attempt = with(with(max(u.attempt, 1), says.attempt), xxh3.Hash(v))
		}
		if !says.column && !embedded {
			continue
		}
		if name == "message_fields" {
			u.fields(t, v)
			continue
		}
		first(&u.media, name, isMedia(says, v) || embedded && within(says, v, maxDepth, isEmbedded))
		first(&u.history, name, spelled && isHistory(t, says, v))
		first(&u.mask, name, says.mask && v[0] == '[' && parallel(t, v) && limits(says, v) || says.off && slices.Contains(offValues, string(v)) ||
			says.on && slices.Contains(onValues, string(v)) || says.train && (v[0] == 'f' || v[0] == 't') && !full(v, says.reversed))
	}
	return u
}

// fields adds what is kept of single messages.
func (u *unread) fields(t *formats.Trajectory, v []byte) {
	for at, fields := range jsontext.Members(v) {
		i := index(at)
		if i < 0 || i >= len(t.Messages) {
			continue
		}
		m, trained := &t.Messages[i], t.Trained(i)
		for key, v := range jsontext.Members(fields) {
			name, says := formats.Text(key), wordsOf(key)
			first(&u.media, name, !says.tool && within(says, v, maxDepth, isMedia))
			first(&u.history, name, !says.tool && within(says, v, maxDepth, func(says *words,
				v []byte) bool {
				return v[0] != '"' && isHistory(t, says, v)
			}))
			first(&u.content, name, silent(m) && !m.Sampled && m.Role != "tool" && (v[0] == '[' || v[0] == '{') && !blank(v))
			if !trained || says.tool {
				continue
			}
			if strings.HasPrefix(name, "tool_calls") {
				first(&u.arguments, name, bytes.Contains(v, []byte(`"arguments":null`)))
			}
			if slices.ContainsFunc(t.Losses, func(l training.MessageLoss) bool { return int(l.Message) == i }) &&
				slices.Contains([]string{"weight", "loss_weight", "loss_scale"}, name) {
				first(&u.weight, name, true) // the column losses has it
				continue
			}
			first(&u.mask, name, within(says, v, maxDepth, limits) || says.on && slices.Contains(onValues, string(v)))
			first(&u.content, name, silent(m) && !blank(v))
			first(&u.content, name, len(m.ToolCalls) == 0 && within(says, v, maxDepth, isCall) ||
				m.Reasoning == "" && within(says, v, maxDepth, func(says *words, v []byte) bool { return isReasoning(m, says, v) }))
		}
	}
}

// Values with which a row says that it does not train at all, beside a name of offNames or
// of onNames. Others of a row, such as a weight of 0.5, are not looked at.
var (
	offValues = []string{"false", "0", "0.0", `"false"`, `"False"`, `"0"`}
	onValues  = []string{"true", "1", `"true"`, `"True"`, `"1"`}
)

// maxDepth is how deep members are looked at.
const maxDepth = 32

func first(of *string, name string, is bool) {
	if is && *of == "" {
		*of = strings.Clone(name)
	}
}

func index(digits []byte) (n int) {
	for _, d := range digits {
		if d < '0' || d > '9' || n > 1<<24 {
			return -1
		}
		n = 10*n + int(d-'0')
	}
	return n
}

// silent reports whether a message says nothing and calls nothing.
func silent(m *formats.Message) bool {
	return m.Content == "" && m.ContentParts == "" && m.Reasoning == "" && len(m.ToolCalls) == 0
}

// blank reports whether a value holds nothing.
func blank(v []byte) bool {
	switch string(v) {
	case "", "null", `""`, "[]", "{}", "false", "0":
		return true
	}
	return false
}

// parallel reports whether a list has a value for each message, or for each answer.
func parallel(t *formats.Trajectory, list []byte) bool {
	n, answers := 0, 0
	for range jsontext.Elements(list) {
		n++
	}
	for i := range t.Messages {
		if t.Messages[i].Role == "assistant" {
			answers++
		}
	}
	return n > 0 && (n == len(t.Messages) || n == answers)
}

// within reports whether a member, or one within its value, is of a sort.
func within(says *words, v []byte, depth int, is func(says *words, v []byte) bool) bool {
	if is(says, v) {
		return true
	}
	if len(v) > 2 && v[0] == '"' && (v[1] == '[' || v[1] == '{') { // JSON as text, as in attributes of spans
		if text := []byte(jsontext.Unquote(v)); jsontext.Valid(text) {
			return within(says, text, depth-1, is)
		}
	}
	if depth == 0 {
		return true // nobody has looked
	}
	for key, inner := range jsontext.Members(v) {
		if says := wordsOf(key); !says.tool && within(says, inner, depth-1, is) {
			return true
		}
	}
	for inner := range jsontext.Elements(v) {
		if (inner[0] == '{' || inner[0] == '[') && within(&noWords, inner, depth-1, is) {
			return true
		}
	}
	return false
}

// limits reports whether the name of a member says that it is about training, and its
// value anything else than that all trains. A number of name loss was measured.
func limits(says *words, v []byte) bool {
	if says.loss && (v[0] == '-' || '0' <= v[0] && v[0] <= '9') {
		return string(v) == "0" || string(v) == "0.0"
	}
	return says.mask && !full(v, says.reversed)
}

// full reports whether a value says of everything that it trains, or nothing at all.
func full(v []byte, reversed bool) bool {
	switch string(v) {
	case "null", `""`:
		return true
	case "true", "1", "1.0", `"true"`, `"True"`, `"1"`:
		return !reversed
	}
	if v[0] != '[' && v[0] != '{' {
		return false
	}
	for e := range jsontext.Elements(v) {
		if !full(e, reversed) {
			return false
		}
	}
	for _, e := range jsontext.Members(v) {
		if !full(e, reversed) {
			return false
		}
	}
	return true
}

func isCall(says *words, v []byte) bool {
	return says.call && (v[0] == '[' || v[0] == '{') &&
		within(&noWords, v, maxDepth, func(says *words, v []byte) bool { return says.callee && !blank(v) && v[0] != '[' })
}

// isReasoning reports whether a member has reasoning that the text of a message does not have.
func isReasoning(m *formats.Message, says *words, v []byte) bool {
	return says.reasoning && within(&words{said: true}, v, maxDepth, func(says *words, v []byte) bool {
		return says.said && v[0] == '"' && !blank(v) && !strings.Contains(m.Content, strings.TrimSpace(jsontext.Unquote(v)))
	})
}

// isMedia reports whether a member beside the text holds images, videos or sound.
func isMedia(says *words, v []byte) bool {
	if !says.media || blank(v) {
		return slices.ContainsFunc(embeddedMedia, func(begin string) bool { return bytes.HasPrefix(v, formats.Bytes(begin)) })
	}
	if v[0] == '[' || v[0] == '{' {
		return true
	}
	text := strings.ToLower(jsontext.Unquote(v))
	return v[0] == '"' && (says.file && !strings.Contains(text, ":") || strings.HasPrefix(text, "data:") ||
		len(text) > 512 && !strings.Contains(text, " ") ||
		slices.ContainsFunc(mediaEnds, func(end string) bool { return strings.HasSuffix(text, end) }))
}

// embeds begins the text of a file that a member holds itself.
var embeds = []byte(`"data:`)

// embeddedMedia begin such texts of which no name has to say what they are.
var embeddedMedia = []string{`"data:image/`, `"data:audio/`, `"data:video/`, `"data:application/pdf`}

// isEmbedded reports whether a member holds such files, at any depth of a row: a
// parameter of the request, which the model saw, is in no message.
func isEmbedded(says *words, v []byte) bool {
	return bytes.Contains(v, embeds) && isMedia(says, v)
}

// isHistory reports whether a column holds a part of a conversation that its messages do not have.
func isHistory(t *formats.Trajectory, says *words, v []byte) bool {
	switch {
	case v[0] == '"':
		return says.ask && !inMessages(t, v)
	case v[0] != '[' && v[0] != '{' || !says.history && !says.ask:
		return false
	}
	texts := says.earlier
	for e := range jsontext.Elements(v) {
		texts = texts || e[0] == '['
	}
	return !saidIn(t, v, texts, maxDepth)
}

// saidIn reports whether the messages have all that a list of turns says.
func saidIn(t *formats.Trajectory, v []byte, texts bool, depth int) bool {
	if depth == 0 || v[0] == '"' {
		return depth > 0 && (!texts || inMessages(t, v))
	}
	for e := range jsontext.Elements(v) {
		if !saidIn(t, e, texts, depth-1) {
			return false
		}
	}
	for key, e := range jsontext.Members(v) {
		if said := wordsOf(key).said; (said || e[0] != '"') && !saidIn(t, e, said, depth-1) {
			return false
		}
	}
	return true
}

// inMessages reports whether a message has a text, or the text has a message that nobody sampled.
func inMessages(t *formats.Trajectory, v []byte) bool {
	text := strings.TrimSpace(jsontext.Unquote(v))
	for i := range t.Messages {
		m := &t.Messages[i]
		said := chat.ContentText(m)
		if strings.Contains(said, text) || !m.Sampled && strings.TrimSpace(said) != "" && strings.Contains(text, strings.TrimSpace(said)) {
			return true
		}
	}
	return false
}
