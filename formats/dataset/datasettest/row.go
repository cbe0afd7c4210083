package datasettest

import (
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
)

// Trajectory is the wide row of the newer version: the fields of
// formats.Trajectory in schema 2.0, and additional ones.
type Trajectory struct {
	TrajectoryID string `parquet:"trajectory_id"`
	Run          string `parquet:"run,dict"`
	ExampleID    string `parquet:"example_id,dict"`
	Epoch        int32  `parquet:"epoch,delta"`
	Generation   int32  `parquet:"generation,delta"`
	ForkedFrom   string `parquet:"forked_from,optional"`
	ForkCall     *int32 `parquet:"fork_call,optional"`

	Example    string              `parquet:"example" rollmill:"payload"`
	Messages   []Message           `parquet:"messages,list" rollmill:"payload"`
	Calls      []Call              `parquet:"calls,list" rollmill:"payload"`
	ToolSets   []string            `parquet:"tool_sets,list" rollmill:"payload"`
	Candidates []formats.Candidate `parquet:"candidates,list" rollmill:"payload"`
	Artifacts  []formats.Artifact  `parquet:"artifacts,optional,list" rollmill:"volatile"`

	Answer           string `parquet:"answer,optional"`
	Status           string `parquet:"status,dict"`
	StopReason       string `parquet:"stop_reason,dict"`
	FailureClass     string `parquet:"failure_class,optional,dict"`
	Error            string `parquet:"error,optional"`
	Model            string `parquet:"model,optional,dict"`
	PolicyVersion    *int64 `parquet:"policy_version,optional"`
	TokenSource      string `parquet:"token_source,optional,dict"`
	PromptTokens     int32  `parquet:"prompt_tokens,delta"`
	CompletionTokens int32  `parquet:"completion_tokens,delta"`
	SampledTokens    int32  `parquet:"sampled_tokens,delta"`
	PayloadDigest    string `parquet:"payload_digest"`

	Reward        *float64                    `parquet:"reward,optional"`
	Rewards       []NamedReward               `parquet:"rewards,list"`
	ShapedRewards []float64                   `parquet:"shaped_rewards,optional,list"`
	GroupID       string                      `parquet:"group_id,optional,dict"`
	Advantage     *float64                    `parquet:"advantage,optional"`
	Advantages    []training.MessageAdvantage `parquet:"advantages,optional,list"`
	Losses        []training.MessageLoss      `parquet:"losses,optional,list"`

	Attempts   int32  `parquet:"attempts,delta" rollmill:"volatile"`
	Diverged   string `parquet:"diverged,optional,dict" rollmill:"volatile"`
	StartedAt  int64  `parquet:"started_at,optional,timestamp(microsecond),delta" rollmill:"volatile"`
	FinishedAt int64  `parquet:"finished_at,optional,timestamp(microsecond),delta" rollmill:"volatile"`
	Metadata   string `parquet:"metadata,optional"`

	Note    *string   `parquet:"note,optional"`
	Effort  *float64  `parquet:"effort,optional"`
	Agreed  bool      `parquet:"agreed,optional"`          // false: null
	Retries int64     `parquet:"a_retries,optional,delta"` // 0: null
	Tags    []string  `parquet:"tags,optional,list"`
	Weights []float32 `parquet:"weights,optional,list" parquet-element:",split"`
	Steps   []Step    `parquet:"steps,optional,list"`
	Origin  Origin    `parquet:"origin"`
	Screens string    `parquet:"screens,optional" rollmill:"payload"`
	Host    string    `parquet:"host,optional,dict" rollmill:"volatile"`
}

// Step is an element of a list of groups.
type Step struct {
	Name  string   `parquet:"name,dict"`
	Score *float64 `parquet:"score,optional"`
	IDs   []int32  `parquet:"ids,optional,list"`
	Took  int64    `parquet:"took" rollmill:"volatile"`
}

// Origin is a group of columns.
type Origin struct {
	Site string `parquet:"site,optional"`
	Seat int32  `parquet:"seat,optional"` // 0: null
}

// Message is that of formats with additional columns.
type Message struct {
	formats.Message

	Certainty *float64  `parquet:"certainty,optional"`
	Spans     []Span    `parquet:"spans,optional,list"`
	Entropies []float32 `parquet:"entropies,optional,list"`
}

// Span is an element of a list within a list.
type Span struct {
	From int32  `parquet:"from"`
	Text string `parquet:"text,optional"`
}

// Call is that of formats with additional columns.
type Call struct {
	formats.Call

	QueueMS int64  `parquet:"queue_ms,optional" rollmill:"volatile"`
	Adapter string `parquet:"adapter,optional,dict"`
}

// NamedReward is that of formats with additional columns.
type NamedReward struct {
	formats.NamedReward

	Unit string `parquet:"unit,optional"`
}

// add sets the additional columns in the n-th row.
func (t *Trajectory) add(n int) {
	if n%3 > 0 {
		note, effort := fmt.Sprint("note ", n), float64(n)/7
		if n%3 == 2 {
			note = "" // a value, not null
		}
		t.Note, t.Effort, t.Agreed, t.Retries = &note, &effort, n%2 == 0, int64(n%4)
		t.Tags, t.Weights = []string{"a", "", fmt.Sprint(n)}, []float32{float32(n), 0.5}
		t.Steps = []Step{{Name: "first", Score: &effort, IDs: []int32{1, 2, int32(n)}, Took: int64(n)}, {Name: "second"}}
		t.Origin = Origin{Site: "here", Seat: int32(n)}
		t.Screens = strings.Repeat(fmt.Sprintf("screen %d ", n), 20_000)
	}
	t.Host = fmt.Sprint("host-", n%2)
	for i := range t.Messages {
		if m := &t.Messages[i]; i%2 == 1 {
			certainty := float64(i) / float64(n+1)
			m.Certainty, m.Entropies = &certainty, []float32{float32(i), float32(n)}
			m.Spans = []Span{{int32(i), "text"}, {int32(n), ""}}
		}
	}
	for i := range t.Calls {
		t.Calls[i].QueueMS, t.Calls[i].Adapter = int64(n+i), fmt.Sprint("adapter-", n%2)
	}
}
