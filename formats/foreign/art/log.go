package art

import "github.com/rollmill/rollmill/formats"

// LogRow is a row of ART's Parquet trajectory log, version 1 (0.5), which is
// meant for reading: it has no ids, no logprobs and no additional histories.
type LogRow struct {
	GroupIndex int64 `parquet:"group_index"`
	logged
}

// logged are the columns of both versions.
type logged struct {
	GroupMetadata string       `parquet:"group_metadata,optional"` // JSON
	GroupMetrics  string       `parquet:"group_metrics,optional"`
	GroupLogs     []string     `parquet:"group_logs,optional,list"`
	Reward        float64      `parquet:"reward"`
	Metrics       string       `parquet:"metrics,optional"`
	Metadata      string       `parquet:"metadata,optional"`
	Tools         string       `parquet:"tools,optional"`
	Logs          []string     `parquet:"logs,optional,list"`
	Messages      []LogMessage `parquet:"messages,list"`
}

// LogMessage is a message of a log row.
type LogMessage struct {
	Role       string `parquet:"role,dict"`
	Content    string `parquet:"content"`
	ToolCalls  string `parquet:"tool_calls,optional"` // JSON
	ToolCallID string `parquet:"tool_call_id,optional"`
	Trainable  bool   `parquet:"trainable"`
}

// LogRow2 is a row of version 2, whose two JSON columns hold everything; the
// other columns are for queries. The file's key-value metadata must name the
// version (LogVersionKey).
type LogRow2 struct {
	FormatVersion   int32  `parquet:"format_version"`
	GroupIndex      int64  `parquet:"group_index"`
	TrajectoryIndex int64  `parquet:"trajectory_index"`
	GroupJSON       string `parquet:"group_json"`
	TrajectoryJSON  string `parquet:"trajectory_json"`

	logged
}

// The key and value in a version 2 file's metadata.
const (
	LogVersionKey = "art.trajectory_parquet.version"
	LogVersion2   = "2"
)

// LogRows returns the version 1 rows of a group. The rows must have passed Check.
func LogRows(rows []formats.Trajectory, group int64) []LogRow {
	out := make([]LogRow, len(rows))
	for i := range rows {
		out[i] = LogRow{group, log(&rows[i])}
	}
	return out
}

// LogRows2 returns the version 2 rows of a group. The rows must have passed Check.
func LogRows2(rows []formats.Trajectory, group int64) []LogRow2 {
	out := make([]LogRow2, len(rows))
	for i := range rows {
		out[i] = LogRow2{
			FormatVersion: 2, GroupIndex: group, TrajectoryIndex: int64(i),
			TrajectoryJSON: string(appendTrajectory(nil, &rows[i], false)),
			GroupJSON:      `{"exceptions":[],"metadata":{},"metrics":{},"logs":[]}`, logged: log(&rows[i]),
		}
	}
	return out
}

func log(t *formats.Trajectory) logged {
	r := logged{Metadata: string(appendMetadata(nil, t))}
	if t.Reward != nil {
		r.Reward = *t.Reward
	}
	if metrics := appendMetrics(nil, t.Rewards); len(metrics) > 0 {
		r.Metrics = "{" + string(metrics) + "}"
	}
	sequences := Sequences(t, func(string, string, ...any) {})
	if len(sequences) == 0 {
		return r
	}
	s := sequences[0]
	if s.Tools >= 0 {
		r.Tools = string(appendJSON(nil, t.ToolSets[s.Tools]))
	}
	for at, i := range s.Path {
		r.Messages = append(r.Messages, logMessage(&t.Messages[i], t.Trained(i) && at <= s.last))
	}
	return r
}

func logMessage(m *formats.Message, trainable bool) LogMessage {
	content, _ := text(m)
	out := LogMessage{Role: m.Role, Content: content, ToolCallID: m.ToolCallID, Trainable: trainable}
	if len(m.ToolCalls) > 0 {
		out.ToolCalls = string(appendToolCalls(nil, m.ToolCalls))
	}
	return out
}
