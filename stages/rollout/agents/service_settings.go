package agents

import (
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/plugin"
)

// ServiceSettings are the settings of agents that are servers, for embedding.
type ServiceSettings struct {
	Arguments        // its address; see remote.Address
	Key       string // of ROLLMILL_AGENT_API_KEY, sent as a bearer token; "" for none
}

const keyVariable = "ROLLMILL_AGENT_API_KEY"

func (s *ServiceSettings) Declare(d *plugin.Declarer) { d.SecretVariable(&s.Key, keyVariable) }

// Address reads the argument of agent http or nat. Its errors are of kind usage.
func (s *ServiceSettings) Address(agent string) (a remote.Address, err error) {
	if len(s.Words) != 1 {
		return a, Usage("--agent '"+agent+": http://127.0.0.1:9000/run'", "agent %s needs one URL", agent)
	}
	if a, err = remote.ParseAddress(s.Words[0], keyVariable); err != nil {
		return a, Usage("write http://HOST:PORT/PATH, or version=2,http://HOST:PORT/PATH", "agent %s: %w", agent, err)
	}
	return a, nil
}

// AddressParams returns a service's part of the identity.
func AddressParams(a remote.Address) map[string]any {
	params := map[string]any{"path": a.Path()}
	if a.Version != "" {
		params["version"] = a.Version
	}
	return params
}
