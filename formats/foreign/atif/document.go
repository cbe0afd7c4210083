package atif

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// The versions that are written; the later one has audio, and earlier readers refuse it.
const schemaVersion, audioVersion = "ATIF-v1.7", "ATIF-v1.8"

type document struct {
	SchemaVersion string        `json:"schema_version"`
	SessionID     string        `json:"session_id"`
	TrajectoryID  string        `json:"trajectory_id"`
	Agent         agent         `json:"agent"`
	Steps         []step        `json:"steps"`
	FinalMetrics  *finalMetrics `json:"final_metrics,omitempty"`
	Extra         any           `json:"extra,omitempty"`
	Subagents     []document    `json:"subagent_trajectories,omitempty"`
}

type agent struct {
	Name            string          `json:"name"`
	Version         string          `json:"version"`
	ModelName       string          `json:"model_name,omitempty"`
	ToolDefinitions json.RawMessage `json:"tool_definitions,omitempty"`
}

type finalMetrics struct {
	PromptTokens     int64 `json:"total_prompt_tokens"`
	CompletionTokens int64 `json:"total_completion_tokens"`
	CachedTokens     int64 `json:"total_cached_tokens"`
	Steps            int   `json:"total_steps"`
}

// row is the extra of a document: the columns that have no field.
type row struct {
	Run           string                `parquet:"run"`
	ExampleID     string                `parquet:"example_id"`
	Epoch         int32                 `parquet:"epoch"`
	Generation    int32                 `parquet:"generation"`
	GroupID       string                `parquet:"group_id,optional"`
	Example       string                `parquet:"example,optional"`
	Answer        string                `parquet:"answer,optional"`
	Status        string                `parquet:"status"`
	StopReason    string                `parquet:"stop_reason"`
	FailureClass  string                `parquet:"failure_class,optional"`
	Error         string                `parquet:"error,optional"`
	PolicyVersion *int64                `parquet:"policy_version,optional"`
	TokenSource   string                `parquet:"token_source,optional"`
	Reward        *float64              `parquet:"reward,optional"`
	Rewards       []formats.NamedReward `parquet:"rewards,optional,list"`
	ShapedRewards []float64             `parquet:"shaped_rewards,optional,list"`
	Advantage     *float64              `parquet:"advantage,optional"`
	ToolSets      []string              `parquet:"tool_sets,optional,list"`
	Candidates    []formats.Candidate   `parquet:"candidates,optional,list"`
	StartedAt     int64                 `parquet:"started_at,optional,timestamp(microsecond)"`
	FinishedAt    int64                 `parquet:"finished_at,optional,timestamp(microsecond)"`
	Metadata      string                `parquet:"metadata,optional"`
	Calls         []formats.Call        `parquet:"calls,optional,list"` // those that no message is the answer of
}

var appendExtra = jsontext.Rows[row]()
