package tracing

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/foreign/otel"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// Mode is what traces have; "" is no traces.
type Mode string

const (
	Spans   Mode = "spans"   // calls, tools, tokens, times and errors
	Content Mode = "content" // also messages, and arguments and results of tools
)

// Settings say what is sent, and where. The variables are those of every exporter of
// OpenTelemetry.
type Settings struct {
	Mode    Mode
	Version string // of this program

	endpoint, tracesEndpoint, headers, tracesHeaders, timeout, tracesTimeout string
	service, resource                                                        string
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	plugin.Choice(d, &s.Mode, "otel",
		"send an OpenTelemetry trace of each finished trajectory to OTEL_EXPORTER_OTLP_ENDPOINT, with `WHAT`: spans, "+
			"without any text of messages; content, with it", Spans, Content).DefaultShown("no traces")
	d.Variable(&s.endpoint, "OTEL_EXPORTER_OTLP_ENDPOINT")
	d.Variable(&s.tracesEndpoint, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	d.SecretVariable(&s.headers, "OTEL_EXPORTER_OTLP_HEADERS")
	d.SecretVariable(&s.tracesHeaders, "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
	d.Variable(&s.timeout, "OTEL_EXPORTER_OTLP_TIMEOUT")
	d.Variable(&s.tracesTimeout, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")
	d.Variable(&s.service, "OTEL_SERVICE_NAME")
	d.Variable(&s.resource, "OTEL_RESOURCE_ATTRIBUTES")
}

type target struct {
	url     string
	header  map[string]string
	timeout time.Duration
}

// target reads the variables. The ones for traces have precedence.
func (s *Settings) target() (t target, err error) {
	base := strings.TrimSuffix(cmp.Or(s.endpoint, "http://localhost:4318"), "/")
	t.url, t.timeout = cmp.Or(s.tracesEndpoint, base+"/v1/traces"), 10*time.Second
	if _, err := remote.HTTPURL(t.url); err != nil {
		return t, fault.Errorf(fault.Usage,
			"write http://HOST:4318 or https://HOST/PATH in OTEL_EXPORTER_OTLP_ENDPOINT",
			"--otel: the endpoint is not an http URL")
	}
	if t.header, err = pairs("OTEL_EXPORTER_OTLP_HEADERS", cmp.Or(s.tracesHeaders, s.headers)); err != nil {
		return t, err
	}
	if text := cmp.Or(s.tracesTimeout, s.timeout); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms < 1 {
			return t, fault.Errorf(fault.Usage, "write a number of milliseconds",
				"--otel: OTEL_EXPORTER_OTLP_TIMEOUT=%q", text)
		}
		t.timeout = time.Duration(ms) * time.Millisecond
	}
	return t, nil
}

func (s *Settings) attributes() (out []otel.Attribute, err error) {
	list, err := pairs("OTEL_RESOURCE_ATTRIBUTES", s.resource)
	if err != nil {
		return nil, err
	}
	if s.service != "" {
		list["service.name"] = s.service
	}
	if s.Version != "" {
		list["service.version"] = s.Version
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		out = append(out, otel.Attribute{Key: name, Value: list[name]})
	}
	return out, nil
}

// pairs reads the variable's NAME=VALUE,NAME=VALUE, in which values are escaped as in
// URLs.
func pairs(variable, text string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil {
			return nil, fault.Errorf(fault.Usage, "write NAME=VALUE,NAME=VALUE with values escaped as in URLs",
				"--otel: %s has an entry that is not NAME=VALUE", variable)
		}
		out[name] = value
	}
	return out, nil
}
