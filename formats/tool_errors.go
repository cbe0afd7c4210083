package formats

// ToolErrorsField names ToolErrors in the metadata of a row that rollout wrote.
const ToolErrorsField = "rollmill_tool_errors"

// ToolErrors says, by the ids of tool calls, whether their results are errors; nil for an id whose results differ.
type ToolErrors map[string]*bool

// Add adds the result of a call.
func (t *ToolErrors) Add(id string, failed bool) {
	if *t == nil {
		*t = ToolErrors{}
	}
	said := &failed
	if was, known := (*t)[id]; known && (was == nil || *was != failed) {
		said = nil
	}
	(*t)[id] = said
}

// Merge adds the results of others.
func (t *ToolErrors) Merge(others ToolErrors) {
	for id, failed := range others {
		t.Add(id, failed != nil && *failed)
		if failed == nil {
			t.Add(id, true)
		}
	}
}
