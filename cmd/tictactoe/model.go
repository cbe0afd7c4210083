package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// model is a chat model at an OpenAI base URL.
type model struct{ url, name, key string }

func newModel(getenv func(string) string) (model, error) {
	base := cmp.Or(getenv("OPENAI_BASE_URL"), getenv("OPENAI_API_BASE"))
	name := getenv("OPENAI_MODEL")
	if base == "" || name == "" {
		return model{}, errors.New("OPENAI_BASE_URL and OPENAI_MODEL must say where the model is")
	}
	return model{strings.TrimRight(base, "/") + "/chat/completions", name, getenv("OPENAI_API_KEY")}, nil
}

type question struct {
	Model     string    `json:"model"`
	Messages  []message `json:"messages"`
	MaxTokens int       `json:"max_tokens"`
}

type completion struct {
	Choices []struct{ Message message }
	Error   struct{ Message string }
}

// reply returns the model's answer to the messages so far.
func (m model) reply(messages []message) (string, error) {
	body, err := json.Marshal(question{m.name, messages, 16})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequest(http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if m.key != "" {
		req.Header.Set("Authorization", "Bearer "+m.key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return "", fmt.Errorf("reading the model's answer: %w", err)
	}
	var c completion
	err = json.Unmarshal(text, &c)
	switch {
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("the model answered %s: %s", resp.Status, c.Error.Message)
	case err != nil:
		return "", fmt.Errorf("the model's answer is not JSON: %w", err)
	case len(c.Choices) == 0:
		return "", errors.New("the model's answer has no choices")
	}
	return c.Choices[0].Message.Content, nil
}
