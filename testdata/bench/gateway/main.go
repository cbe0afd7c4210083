// Command gateway is a server of one route, POST /v1/chat/completions, over Bifrost's Go core, whose plugin appends each
// request, answer and error to a file:
//
//	gateway ADDRESS UPSTREAM FILE
//
// It is a module of its own, so that the main one does not depend on what it compares itself with.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	bifrost "github.com/maximhq/bifrost/core"
	"github.com/maximhq/bifrost/core/schemas"
)

// account is one OpenAI-style upstream without a key.
type account struct{ url string }

func (a account) GetConfiguredProviders() ([]schemas.ModelProvider, error) {
	return []schemas.ModelProvider{schemas.OpenAI}, nil
}

func (a account) GetKeysForProvider(context.Context, schemas.ModelProvider) ([]schemas.Key, error) {
	return []schemas.Key{{ID: "k", Value: *schemas.NewEnvVar("none"), Models: schemas.WhiteList{"*"}, Weight: 1}}, nil
}

func (a account) GetConfigForProvider(schemas.ModelProvider) (*schemas.ProviderConfig, error) {
	c := &schemas.ProviderConfig{NetworkConfig: schemas.NetworkConfig{BaseURL: a.url, DefaultRequestTimeoutInSeconds: 60}}
	c.CheckAndSetDefaults()
	return c, nil
}

// logger is the plugin.
type logger struct {
	sync.Mutex
	file *os.File
}

func (p *logger) GetName() string { return "file" }

func (p *logger) Cleanup() error { return p.file.Close() }

func (p *logger) append(ctx *schemas.BifrostContext, event string, what any) {
	line, err := json.Marshal(map[string]any{"event": event, "at": time.Now().UTC(),
		"request_id": ctx.Value(schemas.BifrostContextKeyRequestID), "what": what})
	if err != nil {
		log.Fatal(err)
	}
	p.Lock()
	defer p.Unlock()
	if _, err := p.file.Write(append(line, '\n')); err != nil {
		log.Fatal(err)
	}
}

func (p *logger) PreLLMHook(ctx *schemas.BifrostContext, q *schemas.BifrostRequest) (*schemas.BifrostRequest, *schemas.LLMPluginShortCircuit, error) {
	p.append(ctx, "request", q.ChatRequest)
	return q, nil, nil
}

func (p *logger) PostLLMHook(ctx *schemas.BifrostContext, a *schemas.BifrostResponse, e *schemas.BifrostError) (*schemas.BifrostResponse,
	*schemas.BifrostError, error) {
	if e != nil {
		p.append(ctx, "error", e)
	} else {
		p.append(ctx, "answer", a.ChatResponse)
	}
	return a, e, nil
}

func main() {
	file, err := os.OpenFile(os.Args[3], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	core, err := bifrost.Init(context.Background(), schemas.BifrostConfig{Account: account{os.Args[2]}, InitialPoolSize: 300,
		Logger: bifrost.NewDefaultLogger(schemas.LogLevelError), LLMPlugins: []schemas.LLMPlugin{&logger{file: file}}})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model    string                `json:"model"`
			Messages []schemas.ChatMessage `json:"messages"`
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = schemas.Unmarshal(body, &q)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx := schemas.NewBifrostContext(r.Context(), time.Now().Add(time.Minute))
		answer, failure := core.ChatCompletionRequest(ctx, &schemas.BifrostChatRequest{Provider: schemas.OpenAI, Model: q.Model, Input: q.Messages,
			Params: &schemas.ChatParameters{}})
		w.Header().Set("Content-Type", "application/json")
		if failure != nil {
			w.WriteHeader(http.StatusBadGateway)
			json.NewEncoder(w).Encode(failure)
			return
		}
		out, err := schemas.Marshal(answer)
		if err != nil {
			log.Fatal(err)
		}
		w.Write(out)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
