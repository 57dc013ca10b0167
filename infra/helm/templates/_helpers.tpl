{{/* Most templates take (dict "root" $ "component" "api"): projector, api or cli. */}}

{{- define "support.fullname" -}}
{{ .Values.fullnameOverride | default .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "support.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "support.labels" -}}
{{ include "support.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "support.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "support.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "support.image" -}}
{{- $own := .image | default dict -}}
{{ $own.repository | default .root.Values.image.repository }}:{{ $own.tag | default .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* The name of the Secret that a component reads. */}}
{{- define "support.secretName" -}}
{{- $own := index .root.Values .component -}}
{{- if and $own.existingSecret $own.secrets }}
{{- fail (printf "%s.existingSecret and %s.secrets are both set" .component .component) }}
{{- else if $own.existingSecret -}}
{{ $own.existingSecret }}
{{- else if $own.secrets.MONGODB_URL -}}
{{ include "support.fullname" .root }}-{{ .component }}
{{- else }}
{{- fail (printf "%s.existingSecret or %s.secrets.MONGODB_URL must be set" .component .component) }}
{{- end }}
{{- end }}

{{/* Settings as the data of a ConfigMap or Secret. Helm reads numbers as floats, and JSON writes 1000000, not 1e+06. */}}
{{- define "support.data" -}}
{{- $data := dict }}
{{- range $name, $value := . }}
{{- $_ := set $data $name (ternary $value (toJson $value) (kindIs "string" $value)) }}
{{- end }}
{{- toYaml $data }}
{{- end }}

{{/* The API's own settings: with an Ingress, links in errors lead to its host. */}}
{{- define "support.apiSettings" -}}
{{- $api := .Values.api -}}
{{- if not (or $api.tls.secretName $api.settings.API_TRUSTED_PROXIES) }}
{{- fail "api.tls.secretName or api.settings.API_TRUSTED_PROXIES must be set: the API refuses plain HTTP" }}
{{- end }}
{{- $defaults := dict }}
{{- if $api.ingress.enabled }}
{{- $_ := set $defaults "API_BASE_URL" (printf "https://%s" $api.ingress.host) }}
{{- end }}
{{- merge dict $api.settings $defaults | toJson }}
{{- end }}

{{- define "support.componentSettings" -}}
{{- if eq .component "api" }}{{ include "support.apiSettings" .root }}
{{- else if eq .component "cli" }}{{ merge (dict "DEPLOYMENT" "helm") .root.Values.cli.settings | toJson }}
{{- else }}{{ (index .root.Values .component).settings | toJson }}
{{- end }}
{{- end }}

{{/* Changes with the settings and secrets that a component reads, so that its pods start again. It does not see inside an existing Secret. */}}
{{- define "support.checksum" -}}
{{- $secrets := (index .root.Values .component).secrets -}}
{{- list .root.Values.settings (include "support.componentSettings" .) $secrets | toJson | sha256sum }}
{{- end }}

{{/* A field that a component may set for itself, and otherwise has from the values for all: (list $of "affinity"). */}}
{{- define "support.field" -}}
{{- $of := first . }}
{{- with index $of.root.Values $of.component (last .) | default (index $of.root.Values (last .)) }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{- define "support.annotations" -}}
checksum/configuration: {{ include "support.checksum" . }}
{{ include "support.field" (list . "podAnnotations") }}
{{- end }}

{{/* Fields of every pod. Without service links, a Service named "api" cannot set API_PORT. */}}
{{- define "support.pod" -}}
serviceAccountName: {{ include "support.serviceAccount" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- $of := . }}
{{- range $field := list "nodeSelector" "affinity" "tolerations" "topologySpreadConstraints" }}
{{- with include "support.field" (list $of $field) }}
{{ $field }}: {{- . | nindent 2 }}
{{- end }}
{{- end }}
{{- with include "support.volumes" . | trim }}
volumes: {{- . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "support.hasTls" -}}
{{- if and (eq .component "api") .root.Values.api.tls.secretName }}yes{{ end -}}
{{- end }}

{{- define "support.volumes" -}}
{{- if include "support.hasTls" . }}
- name: tls
  secret: { secretName: {{ .root.Values.api.tls.secretName }}, defaultMode: 0440 }
{{- end }}
{{- with .root.Values.caSecretName }}
- name: ca
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{ include "support.field" (list . "extraVolumes") }}
{{- end }}

{{- define "support.volumeMounts" -}}
{{- if include "support.hasTls" . }}
- { name: tls, mountPath: /etc/tls, readOnly: true }
{{- end }}
{{- if .root.Values.caSecretName }}
- { name: ca, mountPath: /etc/ca, readOnly: true }
{{- end }}
{{ include "support.field" (list . "extraVolumeMounts") }}
{{- end }}

{{- define "support.env" -}}
{{- with .generation }}
- { name: GENERATION, value: {{ quote . }} }
{{- end }}
{{- if eq .component "api" }}
- { name: API_PORT, value: '8080' }
{{- end }}
{{- if ne .component "cli" }}
- { name: ADMIN_PORT, value: '9090' }
{{- end }}
{{- if include "support.hasTls" . }}
- { name: API_TLS_CERT, value: /etc/tls/tls.crt }
- { name: API_TLS_KEY, value: /etc/tls/tls.key }
{{- end }}
{{- if .root.Values.caSecretName }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/ca/ca.crt }
{{- end }}
{{ include "support.field" (list . "env") }}
{{- end }}

{{/* Fields of every container; `image` overrides parts of the image. */}}
{{- define "support.container" -}}
name: {{ .component }}
image: {{ include "support.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
envFrom:
  - configMapRef: { name: {{ include "support.fullname" .root }} }
  - configMapRef: { name: {{ include "support.fullname" .root }}-{{ .component }} }
  - secretRef: { name: {{ include "support.secretName" . }} }
{{- with include "support.env" . | trim }}
env: {{- . | nindent 2 }}
{{- end }}
{{- with include "support.volumeMounts" . | trim }}
volumeMounts: {{- . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
resources: {{- toYaml (index .root.Values .component).resources | nindent 2 }}
{{- end }}

{{/* The probes of the admin port. An API replica that stops answers 503 at once, so one failure is enough. */}}
{{- define "support.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: admin }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /livez, port: admin }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: admin }
  periodSeconds: 2
  timeoutSeconds: 4
  failureThreshold: 1
{{- end }}
