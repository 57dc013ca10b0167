{{/* Fields of pods and containers. The templates take (dict "root" $ "component" "api"), as in _helpers.tpl. */}}

{{/* The metadata of a pod: (dict "of" $of "labels" (dict …)). No label of `podLabels` replaces a label of the chart. */}}
{{- define "support.podMetadata" -}}
{{- $selector := include "support.selector" .of | fromYaml }}
{{- $labels := include "support.field" (list .of "podLabels") | fromYaml -}}
labels: {{- merge dict (.labels | default dict) $selector $labels | toYaml | nindent 2 }}
{{- $annotations := include "support.field" (list .of "podAnnotations") | fromYaml }}
{{- with (index .of.root.Values .of.component).secrets }}
{{- /* A change of `secrets` restarts the pods. The chart cannot see a change of an existing Secret. */}}
{{- $annotations = set (deepCopy $annotations) "checksum/secrets" (toJson . | sha256sum) }}
{{- end }}
{{- with $annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Fields of every pod. Service links are off: for a Service named "api", Kubernetes would set API_PORT. */}}
{{- define "support.pod" -}}
serviceAccountName: {{ .serviceAccount | default (include "support.serviceAccount" .root) }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
  {{- end }}
{{- end }}
{{- with include "support.fields" (list . "nodeSelector" "affinity" "tolerations" "topologySpreadConstraints" "priorityClassName" "schedulerName" "hostAliases" "dnsConfig" "initContainers") }}
{{ . }}
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

{{/* Variables that the chart sets, from its own ports, files and generations. */}}
{{- define "support.fixedVariables" -}}
{{- $fixed := dict }}
{{- with .generation }}
{{- $_ := set $fixed "GENERATION" . }}
{{- end }}
{{- if eq .component "api" }}
{{- $_ := set $fixed "API_PORT" "8080" }}
{{- end }}
{{- if has .component (list "projector" "api") }}
{{- $_ := set $fixed "ADMIN_PORT" "9090" }}
{{- end }}
{{- if eq .component "console" }}
{{- $_ := set $fixed "CONSOLE_HOST" "0.0.0.0" }}
{{- $_ := set $fixed "CONSOLE_PORT" "8081" }}
{{- end }}
{{- if include "support.hasTls" . }}
{{- $_ := set $fixed "API_TLS_CERT" "/etc/tls/tls.crt" }}
{{- $_ := set $fixed "API_TLS_KEY" "/etc/tls/tls.key" }}
{{- end }}
{{- if .root.Values.caSecretName }}
{{- $_ := set $fixed "NODE_EXTRA_CA_CERTS" "/etc/ca/ca.crt" }}
{{- end }}
{{- toJson $fixed }}
{{- end }}

{{/*
The settings are in the pod template, not in a ConfigMap. So a wrong setting breaks only the pods of the new template: the
replacement of a pod of an earlier template has the settings of that template. Each variable has one entry, and an entry in
`env` overrides a setting. $ is doubled, because Kubernetes would replace $(NAME).
*/}}
{{- define "support.env" -}}
{{- $own := include "support.field" (list . "env") | fromYamlArray }}
{{- $named := dict }}
{{- range $own }}
{{- $_ := set $named .name true }}
{{- end }}
{{- $env := list }}
{{- $fixed := include "support.fixedVariables" . | fromJson }}
{{- $settings := include "support.settings" . | fromJson }}
{{- range $name, $value := $fixed }}
{{- if hasKey $settings $name }}
{{- fail (printf "settings.%s must not be set: the chart sets it to %v, so remove it" $name $value) }}
{{- end }}
{{- end }}
{{- range $name, $value := merge dict $fixed $settings }}
{{- if not (hasKey $named $name) }}
{{- $env = append $env (dict "name" $name "value" (include "support.text" $value | replace "$" "$$")) }}
{{- end }}
{{- end }}
{{- toYaml (concat $env $own) }}
{{- end }}

{{/* Fields of every container. It waits for its Secret. `image` overrides parts of the image, `secret` the Secret. */}}
{{- define "support.container" -}}
name: {{ .component }}
image: {{ include "support.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
envFrom:
  - secretRef: { name: {{ .secret | default (include "support.secretName" .) }} }
  {{- with include "support.field" (list . "extraEnvFrom") }}
  {{- . | nindent 2 }}
  {{- end }}
env: {{- include "support.env" . | nindent 2 }}
{{- with include "support.volumeMounts" . | trim }}
volumeMounts: {{- . | nindent 2 }}
{{- end }}
# With this policy, `kubectl describe pod` shows the last log lines of a failed container.
terminationMessagePolicy: FallbackToLogsOnError
securityContext: {{- toYaml .root.Values.securityContext | nindent 2 }}
resources: {{- toYaml (index .root.Values .component).resources | nindent 2 }}
{{- end }}

{{/* Additional containers in the pods of Deployments. A Job would wait for them forever. */}}
{{- define "support.extraContainers" -}}
{{- with include "support.field" (list . "extraContainers") }}
{{- . }}
{{- end }}
{{- end }}

{{/*
Spreads the pods of one template over nodes, without counting pods that a rollout replaces. Spreads them over zones only if
the operator asks for it. The scheduler ranks only nodes that have the label of each constraint, so without zone labels it
would rank none.
*/}}
{{- define "support.spread" -}}
{{- if not (include "support.field" (list . "topologySpreadConstraints")) -}}
topologySpreadConstraints:
  {{- $of := . }}
  {{- $keys := list "kubernetes.io/hostname" }}
  {{- if .root.Values.spreadOverZones }}
  {{- $keys = append $keys "topology.kubernetes.io/zone" }}
  {{- end }}
  {{- range $key := $keys }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels: {{- include "support.selector" $of | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The probes of the admin port. One failed readiness probe is enough, because a process that shuts down answers 503. */}}
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
