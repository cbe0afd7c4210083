package tree

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
)

// AuxiliaryMode is how auxiliary calls are treated.
type AuxiliaryMode string

const (
	AuxiliarySkip  AuxiliaryMode = "skip"  // they are recorded, and do not train
	AuxiliaryTrain AuxiliaryMode = "train" // they train as all others
)

// Auxiliary reports which calls an agent makes besides its work: titles, checks of a quota, summaries. Structure tells
// them: no call below their root (the message without a parent) offers tools, and a call below another root does. Only
// calls that train count, on both sides. prompts has the last message of each call's prompt, for calls without an
// answer; -1 or
// missing is unknown, and such a call is not auxiliary. The result is nil if none is.
func Auxiliary(messages []formats.Message, calls []formats.Call, prompts []int) []bool {
	roots, at := make([]int, len(messages)), make([]int, len(calls))
	for i := copy(at, prompts); i < len(at); i++ {
		at[i] = -1
	}
	for i := range messages {
		m := &messages[i]
		if roots[i] = i; m.Parent >= 0 {
			roots[i] = roots[m.Parent]
		}
		if m.Sampled && m.Call >= 0 && int(m.Call) < len(calls) {
			at[m.Call] = i
		}
	}
	tools := map[int]bool{} // roots with a call that offers tools
	for i := range calls {
		if calls[i].Target && at[i] >= 0 && calls[i].Tools >= 0 {
			tools[roots[at[i]]] = true
		}
	}
	var out []bool
	for i := range calls {
		if len(tools) > 0 && calls[i].Target && at[i] >= 0 && !tools[roots[at[i]]] {
			if out == nil {
				out = make([]bool, len(calls))
			}
			out[i] = true
		}
	}
	return out
}

// SkipAuxiliary makes auxiliary calls ones that do not train, notes it in their sampling, and returns which they are.
func SkipAuxiliary(messages []formats.Message, calls []formats.Call, prompts []int) []bool {
	auxiliary := Auxiliary(messages, calls, prompts)
	for i, is := range auxiliary {
		if is {
			calls[i].Target = false
			completion.Note(&calls[i], formats.AuxiliaryCall)
		}
	}
	return auxiliary
}
