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

{{/* The component whose Secret a component reads. */}}
{{- define "support.secretOwner" -}}
{{- $own := index .root.Values .component -}}
{{ ternary "projector" .component (and (eq .component "cli") (not $own.existingSecret) (not $own.secrets)) }}
{{- end }}

{{/* The name of the Secret that a component reads. */}}
{{- define "support.secretName" -}}
{{- $owner := include "support.secretOwner" . -}}
{{- $own := index .root.Values $owner -}}
{{- if and $own.existingSecret $own.secrets }}
{{- fail (printf "%s.existingSecret and %s.secrets are both set" $owner $owner) }}
{{- else if $own.existingSecret -}}
{{ $own.existingSecret }}
{{- else if $own.secrets.MONGODB_URL -}}
{{ include "support.fullname" .root }}-{{ $owner }}
{{- else }}
{{- fail (printf "%s.existingSecret or %s.secrets.MONGODB_URL must be set" $owner $owner) }}
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
{{- $secrets := (index .root.Values (include "support.secretOwner" .)).secrets -}}
{{- list .root.Values.settings (include "support.componentSettings" .) $secrets | toJson | sha256sum }}
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
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
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
