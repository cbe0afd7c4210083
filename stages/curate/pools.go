package curate

// Pools says how examples that were lately solved always or never are taken.
// See package rules/pools for what exactly happens.
type Pools struct {
	Enabled   bool     `json:"-"`
	EasyFrom  *float64 `json:"easy-from"`  // solved share from which an example is easy, in (0, 1]; default 1
	HardTo    *float64 `json:"hard-to"`    // solved share up to which it is hard, in [0, EasyFrom); default 0
	EasyShare *float64 `json:"easy-share"` // of easy examples' groups that is taken, in [0, 1]; default 0.25
	HardShare *float64 `json:"hard-share"` // of hard examples' groups; default 0.25
}

// DefaultPoolShare is the share of easy and of hard examples' groups.
const DefaultPoolShare = 0.25

func (p *Pools) validate() error {
	for _, f := range []struct {
		at        **float64
		flag      string
		otherwise float64
	}{{&p.EasyFrom, "pool-easy-from", 1}, {&p.HardTo, "pool-hard-to", 0}, {&p.EasyShare, "pool-easy-share", DefaultPoolShare}, {&p.HardShare, "pool-hard-share", DefaultPoolShare}} {
		if *f.at == nil {
			*f.at = &f.otherwise
		} else if !p.Enabled {
			return usage("it says more about --pools", "curate: --%s without --pools", f.flag)
		}
		if x := **f.at; !(x >= 0 && x <= 1) {
			return usage("give a share from 0 to 1", "curate: --%s %v", f.flag, x)
		}
	}
	if *p.HardTo >= *p.EasyFrom {
		return usage("hard is below easy", "curate: --pool-hard-to %v is not below --pool-easy-from %v", *p.HardTo, *p.EasyFrom)
	}
	return nil
}
