{{/*
Restricts an expression of infra/monitoring to the series of this release, because one Prometheus may contain the series of
several namespaces and releases. The template adds matchers to each selector. The Prometheus Operator adds these labels to the
series of this release's Services, and the rules add them to recorded series. For series of kube-state-metrics, the matchers
select the names of this release's Jobs.
*/}}
{{- define "support.expression" -}}
{{- $fullname := include "support.fullname" .root }}
{{- $namespace := printf `namespace="%s"` .root.Release.Namespace }}
{{- $own := printf `%s,service=~"%s-(projector|api)-admin"` $namespace $fullname }}
{{- $recorded := printf `%s,release="%s"` $namespace .root.Release.Name }}
{{- $text := .expr }}
{{- range $metric, $matchers := dict `(?:api|projector|support|process|nodejs)_[a-z0-9_]+|up` $own `support:[a-z0-9_:]+` $recorded `kube_[a-z0-9_]+` $namespace }}
{{- /* Writes `@` first: the second pass would otherwise find the names of metrics in the matchers. */}}
{{- $text = regexReplaceAll (printf `\b(%s)\{` $metric) $text `${1}{@,` }}
{{- $text = regexReplaceAll (printf `\b(%s)([^a-z0-9_:{"]|$)` $metric) $text `${1}{@}${2}` }}
{{- $text = replace "@" $matchers $text }}
{{- end }}
{{- $text | replace `job_name=~"support-` (printf `job_name=~"%s-` $fullname) }}
{{- end }}

{{/* The rules of infra/monitoring for this release. Its alerts have the labels namespace and release. */}}
{{- define "support.rules" -}}
{{- $root := . }}
{{- $options := .Values.prometheusRule }}
{{- $origin := dict "namespace" .Release.Namespace "release" .Release.Name }}
{{- $alerts := list }}
{{- $groups := list }}
{{- range $group := (.Files.Get "alerts.yaml" | fromYaml).groups }}
{{- $rules := list }}
{{- range $rule := $group.rules }}
{{- $alerts = append $alerts $rule.alert }}
{{- if not (has $rule.alert $options.disabled) }}
{{- $_ := set $rule "expr" (include "support.expression" (dict "root" $root "expr" $rule.expr)) }}
{{- $_ := set $rule "labels" (merge dict ($rule.labels | default dict) $origin) }}
{{- if and $rule.alert $options.runbookUrl }}
{{- $path := $rule.annotations.runbook_url | trimPrefix "docs/runbooks/" }}
{{- $_ := set $rule.annotations "runbook_url" (printf "%s/%s" (trimSuffix "/" $options.runbookUrl) $path) }}
{{- end }}
{{- $rules = append $rules $rule }}
{{- end }}
{{- end }}
{{- $groups = append $groups (set $group "rules" $rules) }}
{{- end }}
{{- range $options.disabled }}
{{- if not (has . $alerts) }}
{{- fail (printf "prometheusRule.disabled: there is no alert %s: use the names in infra/monitoring/alerts.yaml" .) }}
{{- end }}
{{- end }}
{{- toYaml (dict "groups" $groups) }}
{{- end }}

{{/* The dashboard of infra/monitoring for this release. */}}
{{- define "support.dashboard" -}}
{{- $root := . }}
{{- $dashboard := .Files.Get "dashboard.json" | fromJson }}
{{- range $dashboard.panels }}
{{- range .targets }}
{{- $_ := set . "expr" (include "support.expression" (dict "root" $root "expr" .expr)) }}
{{- end }}
{{- end }}
{{- $name := printf "%s/%s" .Release.Namespace .Release.Name }}
{{- $_ := set $dashboard "uid" (printf "support-%s" (sha256sum $name | trunc 12)) }}
{{- $_ := set $dashboard "title" (printf "%s: %s" $dashboard.title $name) }}
{{- toJson $dashboard }}
{{- end }}
