{{/* Most templates take (dict "root" $ "component" "api"). The component is projector, api, cli or console. */}}

{{/* The first part of the names of objects. It must be valid in the name of a Service, and in a regular expression. */}}
{{- define "support.fullname" -}}
{{- $name := .Values.fullnameOverride | default .Release.Name | trunc 40 | trimSuffix "-" }}
{{- if not (regexMatch "^[a-z][a-z0-9-]*$" $name) }}
{{- fail (printf "fullnameOverride must be set to a name of lower-case letters, digits and hyphens that begins with a letter: %q cannot name a Service" $name) }}
{{- end }}
{{- $name }}
{{- end }}

{{- define "support.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* A version as a label. A label must not contain "+", and Flux appends "+" and the revision to versions. */}}
{{- define "support.label" -}}
{{ . | replace "+" "_" | trunc 63 | trimAll "-_." | quote }}
{{- end }}

{{- define "support.labels" -}}
{{ include "support.selector" . }}
app.kubernetes.io/part-of: {{ .root.Chart.Name }}
app.kubernetes.io/version: {{ include "support.label" .root.Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | include "support.label" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "support.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "support.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{/* The image. If a generation has its own repository, tag or digest, the digest for all does not apply to it. */}}
{{- define "support.image" -}}
{{- $all := .root.Values.image }}
{{- $own := .image | default dict }}
{{- $registry := $own.registry | default $all.registry | default .root.Values.global.imageRegistry }}
{{- $digest := $own.digest }}
{{- if not (or $own.repository $own.tag $own.digest) }}
{{- $digest = $all.digest }}
{{- end }}
{{- with $registry }}{{ . }}/{{ end }}
{{- $own.repository | default $all.repository }}
{{- if $digest }}@{{ $digest }}{{ else }}:{{ $own.tag | default $all.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The name of the Secret that a component reads. */}}
{{- define "support.secretName" -}}
{{- $own := index .root.Values .component -}}
{{- if and $own.existingSecret $own.secrets }}
{{- fail (printf "%s.existingSecret and %s.secrets are both set: set only one of them" .component .component) }}
{{- else if $own.existingSecret -}}
{{ $own.existingSecret }}
{{- else if $own.secrets.MONGODB_URL -}}
{{ include "support.fullname" .root }}-{{ .component }}
{{- else }}
{{- fail (printf "%s.existingSecret or %s.secrets.MONGODB_URL must be set" .component .component) }}
{{- end }}
{{- end }}

{{/* A value as text. Helm reads numbers as floats: toJson writes 1000000 where toString would write 1e+06. */}}
{{- define "support.text" -}}
{{ if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end }}
{{- end }}

{{/* The API's own settings. With an Ingress or an HTTPRoute, API_BASE_URL is its host, to which links in errors lead. */}}
{{- define "support.apiSettings" -}}
{{- $api := .Values.api -}}
{{- if not (or $api.tls.secretName $api.settings.API_TRUSTED_PROXIES) }}
{{- fail "api.tls.secretName or api.settings.API_TRUSTED_PROXIES must be set: the API refuses plain HTTP" }}
{{- end }}
{{- $defaults := dict }}
{{- if $api.ingress.enabled }}
{{- $_ := set $defaults "API_BASE_URL" (printf "https://%s" $api.ingress.host) }}
{{- else if and $api.httpRoute.enabled $api.httpRoute.hostnames }}
{{- $_ := set $defaults "API_BASE_URL" (printf "https://%s" (first $api.httpRoute.hostnames)) }}
{{- end }}
{{- merge dict $api.settings $defaults | toJson }}
{{- end }}

{{/* The settings of a component: its own, and those for all services. */}}
{{- define "support.settings" -}}
{{- if not .root.Values.settings.KAFKA_BROKERS }}
{{- fail "settings.KAFKA_BROKERS must be set" }}
{{- end }}
{{- $own := (index .root.Values .component).settings }}
{{- if eq .component "api" }}
{{- $own = include "support.apiSettings" .root | fromJson }}
{{- else if has .component (list "cli" "console") }}
{{- $own = merge dict $own (dict "DEPLOYMENT" "helm") }}
{{- end }}
{{- merge dict $own .root.Values.settings | toJson }}
{{- end }}

{{/*
The value of a field, such as (list $of "affinity"), as `{"value": …}`: the component's own value, even an empty one, or
the value for all pods.
*/}}
{{- define "support.chosen" -}}
{{- $of := first . }}
{{- $field := last . }}
{{- $own := index $of.root.Values $of.component }}
{{- dict "value" (ternary (index $own $field) (index $of.root.Values $field) (hasKey $own $field)) | toJson }}
{{- end }}

{{/* The value of a field, as YAML: (list $of "affinity"). */}}
{{- define "support.field" -}}
{{- with (include "support.chosen" . | fromJson).value }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* The fields that are set, with their names, as YAML: (list $of "affinity" "tolerations"). */}}
{{- define "support.fields" -}}
{{- $of := first . }}
{{- $found := dict }}
{{- range $field := rest . }}
{{- $value := (include "support.chosen" (list $of $field) | fromJson).value }}
{{- /* 0 counts as set for this field alone: for the others, it is the default of Kubernetes. */}}
{{- if or $value (and (eq $field "revisionHistoryLimit") (not (kindIs "invalid" $value))) }}
{{- $_ := set $found $field $value }}
{{- end }}
{{- end }}
{{- with $found }}{{ toYaml . }}{{ end }}
{{- end }}

{{/*
The replicas of a Deployment: (dict "root" $ "name" … "replicas" … "isScaled" … "scaler" (list <apiVersion> <kind>)).

While an autoscaler is on, the field is absent. But if an earlier revision had the field, Kubernetes would set one replica
when the field disappears. So the chart then writes the current number of replicas, in this and all later upgrades. An
annotation of the autoscaler records this case.
*/}}
{{- define "support.replicas" -}}
{{- if .isScaled }}
{{- $running := include "support.keptReplicas" . }}
{{- with $running }}replicas: {{ . }}{{ end }}
{{- else -}}
replicas: {{ .replicas }}
{{- end }}
{{- end }}

{{- define "support.keptAnnotation" -}}
support-read-models/replicas-in-manifest
{{- end }}

{{- define "support.keptReplicas" -}}
{{- $namespace := .root.Release.Namespace }}
{{- $running := lookup "apps/v1" "Deployment" $namespace .name }}
{{- if $running }}
{{- $scaler := lookup (first .scaler) (last .scaler) $namespace .name }}
{{- $annotations := dig "metadata" "annotations" dict ($scaler | default dict) }}
{{- if or (not $scaler) (hasKey ($annotations | default dict) (include "support.keptAnnotation" .)) -}}
{{ $running.spec.replicas }}
{{- end }}
{{- end }}
{{- end }}
