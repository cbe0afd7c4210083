package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/storage/fault"
)

// Judge asks a model for judgements: answers with their cost. Temporary errors,
// from a busy server or a broken connection, are retried.
type Judge struct {
	Client
	URL   string
	Key   string
	Tries uint          // 0: 6
	First time.Duration // the wait before the second try, doubled each time; 0: a second
	Limit time.Duration // how long an answer may take; 0: ten minutes
}

const answerLimit = 10 * time.Minute

// Judgement is an answer with its cost.
type Judgement struct {
	Text             string
	PromptTokens     int64
	CompletionTokens int64
	CachedTokens     int64 // of the prompt's
}

// Ask returns a model's answer. Errors are *Error for what the server refused.
func (j Judge) Ask(ctx context.Context, model string, messages []formats.Message, fields map[string]any) (Judgement, error) {
	return remote.Retry(ctx, cmp.Or(j.Tries, 6), cmp.Or(j.First, time.Second), func() (Judgement, error) {
		answer, err := j.once(ctx, model, messages, fields)
		var refused *Error
		if errors.As(err, &refused) && !refused.Temporary() || ctx.Err() != nil {
			err = fault.Permanent(err)
		}
		return answer, err
	})
}

func (j Judge) once(ctx context.Context, model string, messages []formats.Message, fields map[string]any) (Judgement, error) {
	limit := cmp.Or(j.Limit, answerLimit)
	late := remote.LateError(limit)
	limited, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	body, err := j.bounded(limited, j.URL, j.Key, model, messages, fields)
	if err != nil && context.Cause(limited) == late {
		err = late
	}
	if err != nil {
		return Judgement{}, err
	}
	var answer struct {
		completion
		Usage struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
			Details    struct {
				Cached int64 `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return Judgement{}, fmt.Errorf("the answer is not a chat completion: %w", err)
	}
	if len(answer.Choices) == 0 {
		return Judgement{}, errors.New("the answer has no choices")
	}
	m := answer.Choices[0].read()
	u := answer.Usage
	return Judgement{m.Content, u.Prompt, u.Completion, u.Details.Cached}, nil
}

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	return e.Mend() == "" && (e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict ||
		e.Status == http.StatusTooManyRequests || e.Status >= 500)
}

// Mend returns what a person has to mend before the server answers anybody, or "": see remote.Mend.
func (e *Error) Mend() string { return remote.Mend(e.Status, e.words) }

// Refuses returns the error of a server that refuses everybody until a person mends something.
// err is an *Error; key names where the server's key comes from.
func Refuses(err error, key, format string, args ...any) error {
	var e *Error
	errors.As(err, &e)
	return remote.Refuses(e.Mend(), key, format, args...)
}

// OfRequest reports whether the request itself was refused: another may be accepted.
func (e *Error) OfRequest() bool {
	return e.Mend() == "" && (e.Status == http.StatusBadRequest || e.Status == http.StatusForbidden ||
		e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusUnprocessableEntity)
}

// TooLong reports whether it was refused for its length, in the words of engines and services.
func (e *Error) TooLong() bool {
	text := strings.ToLower(e.Text)
	return e.Status == http.StatusRequestEntityTooLarge ||
		e.OfRequest() && (strings.Contains(text, "context length") || strings.Contains(text, "context_length") ||
			strings.Contains(text, "context window") || strings.Contains(text, "too long") ||
			strings.Contains(text, "maximum input length"))
}
