package formats

// ToolErrorsField names ToolErrors in the metadata of a row that rollout wrote.
const ToolErrorsField = "rollmill_tool_errors"

// ToolErrors says, by the ids of tool calls, whether their results are errors; nil for an id whose results differ.
type ToolErrors map[string]*bool

// Add adds results of calls.
func (t *ToolErrors) Add(results ToolErrors) {
	for id, failed := range results {
		if *t == nil {
			*t = ToolErrors{}
		}
		if was, known := (*t)[id]; known && (was == nil || failed == nil || *was != *failed) {
			failed = nil
		}
		(*t)[id] = failed
	}
}
