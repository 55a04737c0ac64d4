package configs

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// findings collects what validation has to say.
type findings struct {
	now      time.Time
	problems []Problem
	warnings []Problem
}

func (f *findings) errorf(path, format string, args ...any) {
	f.problems = append(f.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (f *findings) warnf(path, format string, args ...any) {
	f.warnings = append(f.warnings, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// Validate checks a configuration that was built in code and completed. The
// error is an *Errors with every problem; the warnings are returned in any case.
func (c *Config) Validate() ([]Problem, error) {
	f := c.findings(time.Now())
	if len(f.problems) > 0 {
		return f.warnings, &Errors{Problems: f.problems}
	}
	return f.warnings, nil
}

// Complete fills in what follows from other values: the only pool is the
// default one and may go without a name, and a replica is named by its URL.
// Header names become lower case. It is idempotent.
func (c *Config) Complete() {
	if len(c.Pools) == 1 {
		c.Pools[0].Default = true
		c.Pools[0].Name = cmp.Or(c.Pools[0].Name, "default")
	}
	lower := func(names []string) {
		for i, name := range names {
			names[i] = strings.ToLower(name)
		}
	}
	lower(c.Headers.RequestAllow)
	lower(c.Headers.ResponseDeny)
	lower(c.Headers.RequestIDs)
	for i := range c.Auth.Keys {
		c.Auth.Keys[i].SHA256 = strings.ToLower(c.Auth.Keys[i].SHA256)
	}
	for i := range c.Pools {
		p := &c.Pools[i]
		lower(p.PolicyOptions.SessionHeaders)
		for j := range p.Replicas {
			r := &p.Replicas[j]
			r.URL = strings.TrimRight(r.URL, "/")
			r.ID = cmp.Or(r.ID, replicaID(r.URL))
		}
		if p.Engine != EngineAuto {
			*p = p.Resolve(p.Engine)
		}
	}
}

// replicaID is the host, port and base path of a URL, the port as it is used.
func replicaID(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	host, base, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, ':'); i <= strings.LastIndexByte(host, ']') && host != "" {
		host += map[string]string{"http": ":80", "https": ":443"}[scheme]
	}
	if base != "" {
		host += "/" + base
	}
	return host
}

func (c *Config) findings(now time.Time) *findings {
	f := &findings{now: now}
	f.rules(reflect.ValueOf(c).Elem(), "")
	c.checkListeners(f)
	c.checkAuth(f)
	c.checkRoutes(f)
	c.checkPools(f)
	return f
}

// rules applies the table to every value below v.
func (f *findings) rules(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f.rules(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			f.rules(v.Index(i), path+"["+strconv.Itoa(i)+"]")
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Secret]() {
			return
		}
		for i, field := range slices.Collect(v.Type().Fields()) {
			key := field.Tag.Get("yaml")
			r := rules[v.Type().Name()+"."+key]
			f.apply(r, v.Field(i), join(path, key))
			f.rules(v.Field(i), join(path, key))
		}
	}
}

func (f *findings) apply(r rule, v reflect.Value, path string) {
	if names, ok := enumValues[v.Type().Name()]; ok {
		f.checkEnum(names, v.String(), path)
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			at := path + "[" + strconv.Itoa(i) + "]"
			if v.Index(i).Kind() == reflect.String && v.Index(i).String() == "" {
				f.errorf(at, "must not be empty")
				continue
			}
			if v.Index(i).Kind() != reflect.Struct {
				f.apply(r, v.Index(i), at)
			}
		}
	case reflect.String:
		f.checkString(r, v.String(), path)
	case reflect.Int, reflect.Int64, reflect.Float64:
		f.checkNumber(r, v, path)
	}
}

func (f *findings) checkEnum(names []string, value, path string) {
	if slices.Contains(names, value) {
		return
	}
	guess := ""
	if near := nearest(value, names); near != "" {
		guess = fmt.Sprintf("; did you mean %q?", near)
	}
	f.errorf(path, "%q is not one of %s%s", clip(value), strings.Join(names, ", "), guess)
}

func (f *findings) checkString(r rule, value, path string) {
	if value == "" {
		if r.required {
			f.errorf(path, "is required")
		}
		return
	}
	if r.form.check == nil {
		return
	}
	if err := r.form.check(value); err != nil {
		f.errorf(path, "%s", err)
	}
}

func (f *findings) checkNumber(r rule, v reflect.Value, path string) {
	n, show := numberOf(v)
	switch {
	case r.zero && n == 0:
	case n < r.min && r.zero:
		f.errorf(path, "%s is out of range: 0, or at least %s", show(n), show(r.min))
	case n < r.min:
		f.errorf(path, "%s is too small: at least %s", show(n), show(r.min))
	case r.max > 0 && n > r.max:
		f.errorf(path, "%s is too large: at most %s", show(n), show(r.max))
	}
}

// numberOf returns v in the unit of its rule, and how to print that unit.
func numberOf(v reflect.Value) (float64, func(float64) string) {
	switch t := v.Interface().(type) {
	case Duration:
		return t.D().Seconds(), func(n float64) string { return Duration(n * float64(time.Second)).String() }
	case Size:
		return float64(t), func(n float64) string { return Size(n).String() }
	}
	show := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	if v.CanInt() {
		return float64(v.Int()), show
	}
	return v.Float(), show
}
