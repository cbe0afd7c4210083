package validate

import (
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// words is what the name of a member says.
type words struct {
	media, file                         bool // images, videos or sound; exactly that
	ask, history, earlier               bool // a prompt; turns; turns before the messages
	mask, reversed, loss, train         bool // whether something trains, or how much; that it does not; just loss; with a word of training
	off, on                             bool // that a row trains or does not
	call, callee, reasoning, said, tool bool
	column                              bool   // one of these, so that a column of the name may change what trains
	index                               bool   // number of a call in its attempt
	attempt                             uint64 // hash of the name of an attempt's id; 0 for others
}

// Stems of names, and names in full. Those with a stem of about... say something about
// such a member, and those with one of benign nothing of training.
var (
	mediaStems = []string{"image", "img", "video", "audio", "picture", "photo", "pixel", "speech", "attachment", "screenshot"}
	aboutMedia = []string{"caption", "descri", "prompt", "text", "title", "count", "num", "size", "width", "height", "token",
		"docker", "container", "imagename", "imagetag", "sandbox", "imagine"}
	mediaEnds = []string{".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".mp4", ".webm", ".mov", ".avi",
		".mkv", ".wav", ".mp3", ".flac", ".ogg", ".m4a"}

	askNames     = []string{"prompt", "context", "input", "instruction", "history", "query", "text"}
	earlierStems = []string{"histor", "previous", "prior"}
	historyStems = []string{"dialog", "convers", "message", "turns", "chat", "thread"}
	saidKeys     = []string{"content", "value", "text", "user", "assistant", "question", "answer", "query", "response", "parts"}

	maskStems = []string{"mask", "train", "weight", "loss", "demo", "skip", "learn"}
	benign    = []string{"constrain", "restrain", "strain", "gloss", "lossless", "blossom", "demograph", "democra", "pretrain"}
	reversed  = []string{"skip", "demo", "masked", "notrain", "untrain", "nottrain", "donttrain", "noloss", "nolearn", "unlearn",
		"ignore", "exclude", "without", "disable", "freeze", "frozen"}
	offNames = []string{"weight", "lossweight", "lossscale", "sampleweight", "exampleweight", "train",
		"trainable", "lossmask", "steplossmask"}
	onNames = []string{"skip", "skiptraining", "masked", "ignore", "isdemo", "exclude", "excluded"}

	callStems      = []string{"call", "tooluse", "invocation"}
	reasoningStems = []string{"reasoning", "thinking", "thought", "rationale", "scratchpad", "chainofthought"}
	aboutReasoning = []string{"effort", "signature", "token", "budget", "level", "mode", "format", "type", "enabled", "id", "time"}

	// members whose names within are those of a tool or of another trajectory
	ofTools = []string{"arguments", "args", "input", "parameters", "subagent_trajectory", "tools", "schema"}

	// by which sources number the calls of an attempt, and name the attempt
	callNames = []string{"call", "callindex", "callidx", "callnumber", "callno", "step", "stepindex", "stepidx", "stepnumber", "stepid",
		"turn", "turnindex", "turnidx", "turnnumber", "turnid", "requestindex", "requestidx", "responseindex", "messageindex", "episode"}
	attemptNames = []string{"trial", "trialname", "trialid", "trajectoryid", "trajid", "sessionid", "attemptid", "rolloutid", "traceid",
		"conversationid", "threadid", "sourceid"}
)

var (
	names   = jsontext.NewNames(newWords)
	noWords words
)

func wordsOf(name []byte) *words { return names.Of(formats.Text(name)) }

func newWords(name string) *words {
	all := jsontext.Words(name)
	p := strings.Join(all, "")
	w := words{
		media: hasAny(p, mediaStems) && !hasAny(p, aboutMedia), file: slices.Contains(mediaStems, strings.TrimSuffix(p, "s")),
		ask: slices.Contains(askNames, p), earlier: hasAny(p, earlierStems),
		off: slices.Contains(offNames, p), on: slices.Contains(onNames, p),
		call: hasAny(p, callStems) && !strings.HasPrefix(name, "tool_calls"), callee: name == "name" || name == "function",
		reasoning: hasAny(p, reasoningStems) && !hasAny(p, aboutReasoning),
		said:      slices.Contains(saidKeys, name), tool: slices.Contains(ofTools, name),
	}
	w.history = w.earlier || hasAny(p, historyStems)
	meant := slices.DeleteFunc(all, func(word string) bool { // is_train is none of strain, trainer_logprobs are what a program computed
		return word == "trainer" || hasAny(word, benign)
	})
	training := strings.ReplaceAll(strings.Join(meant, ""), "specialtokens", "")
	w.mask, w.reversed, w.loss = hasAny(training, maskStems), hasAny(training, reversed), training == "loss"
	w.train = strings.Contains(training, "train")
	w.column = w.media || w.ask || w.history || w.mask || w.off || w.on
	if w.index = slices.Contains(callNames, p); slices.Contains(attemptNames, p) {
		w.attempt = max(xxh3.HashString(p), 1)
	}
	return &w
}

func hasAny(name string, stems []string) bool {
	return slices.ContainsFunc(stems, func(s string) bool { return strings.Contains(name, s) })
}
