package validate

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unsafe" // looks at the metadata of each row without a copy

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// unread is what a row keeps in its metadata because no column holds it, and which
// changes what trains: the first member of each sort, "" for none.
type unread struct{ mask, weight, content, media, history, arguments string }

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
	r := WideRow(0, t)
	u := *r.keeps()
	for name, member := range map[string]*string{"unread_mask": &u.mask, "unread_content": &u.content, "content_parts": &u.media,
		"unread_history": &u.history, "no_arguments": &u.arguments} {
		if a[name] {
			*member = ""
		}
	}
	return cmp.Or(u.mask, u.content, u.media, u.history, u.arguments)
}

// ofUnread returns a check of a sort of unread members.
func ofUnread(sort func(*unread) string) func(*Count, *Row) {
	return ofWide(func(c *Count, r *Row, _ *formats.Trajectory) {
		if name := sort(r.keeps()); name != "" {
			c.Add(r, name, "%s", name)
		}
	})
}

// bytesOf returns the bytes of a text, which nobody may change.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

func unreadOf(t *formats.Trajectory) (u unread) {
	metadata := bytesOf(t.Metadata)
	if !jsontext.Valid(metadata) {
		return u
	}
	embedded := bytes.Contains(metadata, embeds) // most rows have none, and need no walk
	for key, v := range jsontext.Members(metadata) {
		if string(key) != "message_fields" {
			name := formats.Text(key)
			first(&u.media, name, isMedia(name, v) || embedded && within(name, v, maxDepth, isEmbedded))
			first(&u.history, name, isHistory(t, name, v))
			first(&u.mask, name, v[0] == '[' && parallel(t, v) && limits(name, v) ||
				len(rowMasks[string(v)]) > 0 && slices.Contains(rowMasks[string(v)], plain(name)))
			continue
		}
		for at, fields := range jsontext.Members(v) {
			i := index(at)
			if i < 0 || i >= len(t.Messages) {
				continue
			}
			m, trained := &t.Messages[i], t.Trained(i)
			for key, v := range jsontext.Members(fields) {
				name := formats.Text(key)
				first(&u.media, name, !slices.Contains(ofTools, name) && within(name, v, maxDepth, isMedia))
				first(&u.content, name, silent(m) && !m.Sampled && m.Role != "tool" && (v[0] == '[' || v[0] == '{') && !blank(v))
				if !trained || slices.Contains(ofTools, name) {
					continue
				}
				if strings.HasPrefix(name, "tool_calls") {
					first(&u.arguments, name, bytes.Contains(v, []byte(`"arguments":null`)))
				}
				if slices.ContainsFunc(t.Losses, func(l formats.MessageLoss) bool { return int(l.Message) == i }) &&
					slices.Contains([]string{"weight", "loss_weight", "loss_scale"}, name) {
					first(&u.weight, name, true) // the column losses has it
					continue
				}
				first(&u.mask, name, within(name, v, maxDepth, limits))
				first(&u.content, name, silent(m) && !blank(v))
				first(&u.content, name, len(m.ToolCalls) == 0 && within(name, v, maxDepth, isCall) ||
					m.Reasoning == "" && within(name, v, maxDepth, func(name string, v []byte) bool { return isReasoning(m, name, v) }))
			}
		}
	}
	return u
}

// rowMasks are values and the names, as plain gives them, with which a row says that it
// does not train at all. Others of a row, such as a weight of 0.5, are not looked at.
var rowMasks = func() map[string][]string {
	all := map[string][]string{}
	for _, off := range []string{"false", "0", "0.0", `"false"`, `"False"`, `"0"`} {
		all[off] = []string{"weight", "lossweight", "lossscale", "sampleweight", "exampleweight", "train", "trainable", "lossmask", "steplossmask"}
	}
	for _, on := range []string{"true", "1", `"true"`, `"True"`, `"1"`} {
		all[on] = []string{"skip", "skiptraining", "masked", "ignore", "isdemo", "exclude", "excluded"}
	}
	return all
}()

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

// Stems of names that say whether something trains, or how much; names with one of
// benign say nothing of it, and those of reversed say that it does not.
var (
	maskStems = []string{"mask", "train", "weight", "loss", "demo", "skip", "learn"}
	benign    = []string{"constrain", "restrain", "strain", "gloss", "lossless", "blossom", "demograph", "democra"}
	reversed  = []string{"skip", "demo", "masked", "notrain", "untrain", "nottrain", "donttrain", "noloss", "nolearn", "unlearn",
		"ignore", "exclude", "without", "disable", "freeze", "frozen"}
)

// ofTools are members whose names within are those of a tool or of another trajectory.
var ofTools = []string{"arguments", "args", "input", "parameters", "subagent_trajectory", "tools", "schema"}

// plain returns a name in small letters, without what separates its words.
func plain(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 {
		return name
	}
	return strings.Map(func(r rune) rune {
		if separates(r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// separates reports whether a character separates the words of a name.
func separates(r rune) bool { return strings.ContainsRune("_-. ", r) }

var camel = regexp.MustCompile(`([a-z])([A-Z])`)

func hasAny(name string, stems []string) bool {
	return slices.ContainsFunc(stems, func(s string) bool { return strings.Contains(name, s) })
}

// within reports whether a member, or one within its value, is of a sort.
func within(name string, v []byte, depth int, is func(name string, v []byte) bool) bool {
	if is(name, v) {
		return true
	}
	if depth == 0 {
		return true // nobody has looked
	}
	for key, inner := range jsontext.Members(v) {
		if !slices.Contains(ofTools, string(key)) && within(string(key), inner, depth-1, is) {
			return true
		}
	}
	for inner := range jsontext.Elements(v) {
		if (inner[0] == '{' || inner[0] == '[') && within("", inner, depth-1, is) {
			return true
		}
	}
	return false
}

// limits reports whether the name of a member says that it is about training, and its
// value anything else than that all trains. A number of name loss was measured.
func limits(name string, v []byte) bool {
	if !hasAny(plain(name), maskStems) {
		return false
	}
	var meant strings.Builder // is_train is none of strain
	for _, word := range strings.FieldsFunc(camel.ReplaceAllString(name, "${1}_${2}"), separates) {
		if word = strings.ToLower(word); !hasAny(word, benign) {
			meant.WriteString(word)
		}
	}
	if name = strings.ReplaceAll(meant.String(), "specialtokens", ""); !hasAny(name, maskStems) {
		return false
	}
	if name == "loss" && (v[0] == '-' || '0' <= v[0] && v[0] <= '9') {
		return string(v) == "0" || string(v) == "0.0"
	}
	return !full(v, hasAny(name, reversed))
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

// Stems of names of calls and of reasoning, and of words that make such a name one of
// something about it.
var (
	callStems      = []string{"call", "tooluse", "invocation"}
	reasoningStems = []string{"reasoning", "thinking", "thought", "rationale", "scratchpad", "chainofthought"}
	aboutReasoning = []string{"effort", "signature", "token", "budget", "level", "mode", "format", "type", "enabled", "id", "time"}
)

// isCall reports whether a member has calls of tools.
func isCall(name string, v []byte) bool {
	return (v[0] == '[' || v[0] == '{') && hasAny(plain(name), callStems) && !strings.HasPrefix(name, "tool_calls") &&
		within("", v, maxDepth, func(key string, v []byte) bool {
			return (key == "name" || key == "function") && !blank(v) && v[0] != '['
		})
}

// isReasoning reports whether a member has reasoning that the text of a message does not
// have.
func isReasoning(m *formats.Message, name string, v []byte) bool {
	name = plain(name)
	if !hasAny(name, reasoningStems) || hasAny(name, aboutReasoning) {
		return false
	}
	return within(saidKeys[0], v, maxDepth, func(key string, v []byte) bool {
		return v[0] == '"' && !blank(v) && slices.Contains(saidKeys, key) &&
			!strings.Contains(m.Content, strings.TrimSpace(jsontext.Unquote(v)))
	})
}

// Stems of names of media, of words that make such a name one of a text or a figure,
// and ends of the names of media files.
var (
	mediaStems = []string{"image", "img", "video", "audio", "picture", "photo", "pixel", "speech", "attachment"}
	aboutMedia = []string{"caption", "descri", "prompt", "text", "title", "count", "num", "size", "width", "height", "token",
		"docker", "container", "imagename", "imagetag", "sandbox", "imagine"}
	mediaEnds = []string{".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".mp4", ".webm", ".mov", ".avi",
		".mkv", ".wav", ".mp3", ".flac", ".ogg", ".m4a"}
)

// isMedia reports whether a member beside the text holds images, videos or sound.
func isMedia(name string, v []byte) bool {
	name = plain(name)
	if blank(v) || !hasAny(name, mediaStems) || hasAny(name, aboutMedia) {
		return false
	}
	if v[0] == '[' || v[0] == '{' {
		return true
	}
	text := strings.ToLower(jsontext.Unquote(v))
	exact := slices.Contains(mediaStems, strings.TrimSuffix(name, "s")) && !strings.Contains(text, ":")
	return v[0] == '"' && (exact || strings.HasPrefix(text, "data:") || len(text) > 512 && !strings.Contains(text, " ") ||
		slices.ContainsFunc(mediaEnds, func(end string) bool { return strings.HasSuffix(text, end) }))
}

// embeds begins the text of a file that a member holds itself.
var embeds = []byte(`"data:`)

// isEmbedded reports whether a member holds such files, at any depth of a row: a
// parameter of the request, which the model saw, is in no message.
func isEmbedded(name string, v []byte) bool { return bytes.Contains(v, embeds) && isMedia(name, v) }

// Names of columns that are a part of the conversation as text, and stems of those
// that are one as a list.
var (
	askNames     = []string{"prompt", "context", "input", "instruction", "history", "query", "text"}
	historyStems = []string{"histor", "previous", "prior", "dialog", "convers", "message", "turns", "chat", "thread"}
	saidKeys     = []string{"content", "value", "text", "user", "assistant", "question", "answer", "query", "response", "parts"}
)

// isHistory reports whether a column holds a part of a conversation that its messages
// do not have.
func isHistory(t *formats.Trajectory, name string, v []byte) bool {
	name = plain(name)
	switch {
	case v[0] == '"':
		return slices.Contains(askNames, name) && !inMessages(t, v)
	case v[0] != '[' && v[0] != '{' || !hasAny(name, historyStems) && !slices.Contains(askNames, name):
		return false
	}
	pairs := false
	for e := range jsontext.Elements(v) {
		pairs = pairs || e[0] == '['
	}
	return !saidIn(t, v, pairs || hasAny(name, historyStems[:3]), maxDepth)
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
		if said := slices.Contains(saidKeys, string(key)); (said || e[0] != '"') && !saidIn(t, e, said, depth-1) {
			return false
		}
	}
	return true
}

// inMessages reports whether a message has a text, or the text has a message that
// nobody sampled.
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
