package agents

import (
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Service is an agent that is a server.
type Service struct {
	remote.Address
	Key string // as in ServiceSettings
}

// ServiceSettings are the settings of agents that are servers, for embedding.
type ServiceSettings struct {
	Arguments        // its address; see remote.Address
	Key       string // of ROLLMILL_AGENT_API_KEY, sent as a bearer token; "" for none
}

const keyVariable = "ROLLMILL_AGENT_API_KEY"

// Declare declares the settings.
func (s *ServiceSettings) Declare(d *plugin.Declarer) { d.SecretVariable(&s.Key, keyVariable) }

// Service reads the argument of agent http or nat. Its errors are of kind usage.
func (s *ServiceSettings) Service(agent string) (Service, error) {
	if len(s.Words) != 1 {
		return Service{}, Usage("--agent '"+agent+": http://127.0.0.1:9000/run'", "agent %s needs one URL", agent)
	}
	a, err := remote.ParseAddress(s.Words[0], keyVariable)
	if err != nil {
		return Service{}, Usage("write http://HOST:PORT/PATH, or version=2,http://HOST:PORT/PATH", "agent %s: %w", agent, err)
	}
	return Service{a, s.Key}, nil
}

// Params returns the service's part of the identity.
func (s Service) Params() map[string]any {
	params := map[string]any{"path": s.Path()}
	if s.Version != "" {
		params["version"] = s.Version
	}
	return params
}
