package agents

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// Service is an agent that is a server: "URL" or "version=V,URL". Its host and
// port are not part of the identity, only its path, its query and the version
// that the user gives: a server that moved is the same agent.
type Service struct {
	URL     *url.URL
	Version string
	Key     string // as in ServiceSettings
}

// ServiceSettings are the settings of agents that are servers, for embedding.
type ServiceSettings struct {
	Arguments        // its address; see Service
	Key       string // of ROLLMILL_AGENT_API_KEY, sent as a bearer token; "" for none
}

// Declare declares the settings.
func (s *ServiceSettings) Declare(d *plugin.Declarer) {
	d.SecretVariable(&s.Key, "ROLLMILL_AGENT_API_KEY")
}

// secretName matches the usual names of URL parameters that must not be in a
// manifest.
var secretName = regexp.MustCompile(`(?i)(key|token|secret|passw|signature|^sig$|auth)`)

// Service reads the argument of agent http or nat. It refuses a URL with a
// secret, because every dataset would store it. Its errors are of kind usage.
func (set *ServiceSettings) Service(agent string) (s Service, err error) {
	words := set.Words
	if len(words) != 1 {
		return s, Usage("--agent '"+agent+": http://127.0.0.1:9000/run'", "agent %s needs one URL", agent)
	}
	address := words[0]
	if rest, versioned := strings.CutPrefix(address, "version="); versioned {
		if s.Version, address, _ = strings.Cut(rest, ","); s.Version == "" {
			return s, Usage("version=2,http://HOST:PORT/PATH", "agent %s: version= names none", agent)
		}
	}
	const key = "put a key into ROLLMILL_AGENT_API_KEY: it is sent as a bearer token and kept nowhere"
	s.URL, err = url.Parse(address)
	switch {
	case err != nil || s.URL.Host == "" || s.URL.Scheme != "http" && s.URL.Scheme != "https":
		return s, Usage("write http://HOST:PORT/PATH", "agent %s: %q is not an HTTP URL", agent, redactURL(address))
	case s.URL.User != nil:
		return s, Usage(key, "agent %s: the URL holds a user or a password", agent)
	}
	for name := range s.URL.Query() {
		if secretName.MatchString(name) {
			return s, Usage(key, "agent %s: the URL's parameter %q looks like a secret", agent, name)
		}
	}
	s.Key = set.Key
	return s, nil
}

// redactURL returns what may be shown of an address that could not be parsed:
// nothing before an @ or after a question mark.
func redactURL(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address[strings.LastIndex(address, "@")+1:]
}

// Params returns the service's part of the identity.
func (s Service) Params() map[string]any {
	params := map[string]any{"path": (&url.URL{Path: s.URL.Path, RawPath: s.URL.RawPath,
		RawQuery: s.URL.RawQuery}).RequestURI()}
	if s.Version != "" {
		params["version"] = s.Version
	}
	return params
}
