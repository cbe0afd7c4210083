package group

import (
	"encoding/json"
	"fmt"
)

// byColumns are the columns that an expression may read.
type byColumns struct {
	TrajectoryID     string         `expr:"trajectory_id"`
	Run              string         `expr:"run"`
	ExampleID        string         `expr:"example_id"`
	Epoch            int            `expr:"epoch"`
	Generation       int            `expr:"generation"`
	Answer           string         `expr:"answer"`
	Status           string         `expr:"status"`
	StopReason       string         `expr:"stop_reason"`
	FailureClass     string         `expr:"failure_class"`
	Model            string         `expr:"model"`
	PolicyVersion    int            `expr:"policy_version"` // -1 when unknown
	PromptTokens     int            `expr:"prompt_tokens"`
	CompletionTokens int            `expr:"completion_tokens"`
	SampledTokens    int            `expr:"sampled_tokens"`
	Metadata         map[string]any `expr:"metadata"`
	Example          map[string]any `expr:"example"` // the row as it came
}

// columns opens each of them; no other column can be read.
var columns = map[string]opener{
	"trajectory_id": column(func(e *byColumns, c *struct {
		X string `parquet:"trajectory_id"`
	}) {
		e.TrajectoryID = c.X
	}),
	"run": column(func(e *byColumns, c *struct {
		X string `parquet:"run,dict"`
	}) {
		e.Run = c.X
	}),
	"example_id": column(func(e *byColumns, c *struct {
		X string `parquet:"example_id,dict"`
	}) {
		e.ExampleID = c.X
	}),
	"epoch": column(func(e *byColumns, c *struct {
		X int32 `parquet:"epoch,delta"`
	}) {
		e.Epoch = int(c.X)
	}),
	"generation": column(func(e *byColumns, c *struct {
		X int32 `parquet:"generation,delta"`
	}) {
		e.Generation = int(c.X)
	}),
	"answer": column(func(e *byColumns, c *struct {
		X string `parquet:"answer,optional"`
	}) {
		e.Answer = c.X
	}),
	"status": column(func(e *byColumns, c *struct {
		X string `parquet:"status,dict"`
	}) {
		e.Status = c.X
	}),
	"stop_reason": column(func(e *byColumns, c *struct {
		X string `parquet:"stop_reason,dict"`
	}) {
		e.StopReason = c.X
	}),
	"failure_class": column(func(e *byColumns, c *struct {
		X string `parquet:"failure_class,optional,dict"`
	}) {
		e.FailureClass = c.X
	}),
	"model": column(func(e *byColumns, c *struct {
		X string `parquet:"model,optional,dict"`
	}) {
		e.Model = c.X
	}),
	"policy_version": column(func(e *byColumns, c *struct {
		X *int64 `parquet:"policy_version,optional"`
	}) {
		e.PolicyVersion = -1
		if c.X != nil {
			e.PolicyVersion = int(*c.X)
		}
	}),
	"prompt_tokens": column(func(e *byColumns, c *struct {
		X int32 `parquet:"prompt_tokens,delta"`
	}) {
		e.PromptTokens = int(c.X)
	}),
	"completion_tokens": column(func(e *byColumns, c *struct {
		X int32 `parquet:"completion_tokens,delta"`
	}) {
		e.CompletionTokens = int(c.X)
	}),
	"sampled_tokens": column(func(e *byColumns, c *length) {
		e.SampledTokens = int(c.SampledTokens)
	}),
	"metadata": parsed(func(e *byColumns, c *struct {
		X string `parquet:"metadata,optional"`
	}) (err error) {
		e.Metadata, err = object("metadata", c.X)
		return err
	}),
	"example": parsed(func(e *byColumns, c *struct {
		X string `parquet:"example"`
	}) (err error) {
		e.Example, err = object("example", c.X)
		return err
	}),
}

func object(name, text string) (fields map[string]any, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return nil, fmt.Errorf("its %s is not a JSON object: %w", name, err)
	}
	return fields, nil
}
