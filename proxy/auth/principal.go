package auth

// Principal is the owner of a key. The zero value is nobody in particular: no
// tenant, not trusted, every model.
type Principal struct {
	ID      string // names the key in logs and metrics; never the key
	Tenant  string // "" : the shared tenant
	Trusted bool   // may send injection fields
	models  map[string]struct{}
}

// AllowsModel reports whether the principal may use a model, by the name that
// the client sent.
func (p Principal) AllowsModel(model string) bool {
	if p.models == nil {
		return true
	}
	_, ok := p.models[model]
	return ok
}

// modelSet returns nil, which allows all, for no names.
func modelSet(names []string) map[string]struct{} {
	if len(names) == 0 {
		return nil
	}
	set := make(map[string]struct{}, len(names))
	for _, n := range names {
		set[n] = struct{}{}
	}
	return set
}
