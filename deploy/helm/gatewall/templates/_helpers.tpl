{{- define "gatewall.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gatewall.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gatewall.labels" -}}
{{ include "gatewall.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* What every container has. The state is one folder below the volume, because Kubernetes opens the volume itself to the group. */ -}}
{{- define "gatewall.container" -}}
{{- $image := .Values.image -}}
image: {{ if $image.digest }}{{ printf "%s@%s" $image.repository $image.digest }}{{ else }}{{ printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) }}{{ end }}
imagePullPolicy: {{ $image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: state, mountPath: /var/lib/gatewall}
{{- end -}}

{{- /* For whatever is no data plane: that gets `gatewall.dataPlaneKeys`. */ -}}
{{- define "gatewall.keys" -}}
- {name: keys, mountPath: /run/secrets/gatewall, readOnly: true}
{{- end -}}

{{- /* The keys of sessions, and what verifies the policy files; none that seals second factors or signs admin sessions. */ -}}
{{- define "gatewall.dataPlaneKeys" -}}
- {name: data-plane-keys, mountPath: /run/secrets/gatewall, readOnly: true}
{{- end -}}

{{- /* For who uses the database: the data plane does not, and gets no password of one. */ -}}
{{- define "gatewall.access" -}}
- {name: access, mountPath: /run/secrets/gatewall-access, readOnly: true}
{{- end -}}

{{- define "gatewall.kernel.env" -}}
- {name: GATEWALL_HOME, value: /var/lib/gatewall/state}
- {name: ROOT_PATH, value: {{ .Values.rootPath | quote }}}
- {name: GATEWALL_PUBLIC_URL, value: {{ .Values.publicUrl | quote }}}
- {name: GATEWALL_TRUSTED_PROXIES, value: {{ join "," .Values.trustedProxies | quote }}}
- {name: GATEWALL_LOG_LEVEL, value: {{ .Values.logLevel | quote }}}
- {name: GATEWALL_WORKERS, value: {{ .Values.workers | quote }}}
{{- with .Values.cookieDomain }}
- {name: GATEWALL_COOKIE_DOMAIN, value: {{ . | quote }}}
{{- end }}
- {name: GATEWALL_JWT_KEYS_FILE, value: /run/secrets/gatewall/jwt-keys}
{{- end -}}

{{- define "gatewall.envOfAccess" -}}
- {name: GATEWALL_SECRET_KEY_FILE, value: /run/secrets/gatewall/secret-key}
- {name: GATEWALL_DATA_KEYS_FILE, value: /run/secrets/gatewall/data-keys}
- {name: DATABASE_URL_FILE, value: /run/secrets/gatewall-access/database-url}
{{- if .Values.secret.keys.cacheUrl }}
- {name: CACHE_URL_FILE, value: /run/secrets/gatewall-access/cache-url}
{{- end }}
{{- end -}}

{{- define "gatewall.agent" -}}
- name: agent
  restartPolicy: Always # a sidecar: it ends after the plane, so that it can ship the last records
  args: [agent, --forget-host] # the name of a pod never comes back
  {{- include "gatewall.container" . | nindent 2 }}
    {{- include "gatewall.keys" . | nindent 4 }}
    {{- include "gatewall.access" . | nindent 4 }}
  env:
    {{- include "gatewall.kernel.env" . | nindent 4 }}
    {{- include "gatewall.envOfAccess" . | nindent 4 }}
  livenessProbe:
    exec: {command: [/opt/gatewall/deploy/docker/entrypoint, health, agent]}
    initialDelaySeconds: 30
    periodSeconds: 30
    timeoutSeconds: 10
  resources: {{- toYaml .Values.agent.resources | nindent 4 }}
{{- end -}}

{{- define "gatewall.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false # a Service called gatewall would set GATEWALL_PORT
terminationGracePeriodSeconds: 45
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The Secret as files: `also` has the optional keys of this pod, by the name of their file. */ -}}
{{- define "gatewall.volumes" -}}
{{- $keys := .root.Values.secret.keys -}}
- name: state
  emptyDir: {sizeLimit: {{ .root.Values.state.sizeLimit }}}
- name: keys
  secret:
    secretName: {{ .root.Values.secret.name }}
    defaultMode: 0440
    items:
      - {key: {{ $keys.secretKey }}, path: secret-key}
      - {key: {{ $keys.jwtKeys }}, path: jwt-keys}
      - {key: {{ $keys.dataKeys }}, path: data-keys}
- name: access
  secret:
    secretName: {{ .root.Values.secret.name }}
    defaultMode: 0440
    items:
      - {key: {{ $keys.databaseUrl }}, path: database-url}
      {{- with $keys.cacheUrl }}
      - {key: {{ . }}, path: cache-url}
      {{- end }}
      {{- range $path, $key := .also }}
      {{- if $key }}
      - {key: {{ $key }}, path: {{ $path }}}
      {{- end }}
      {{- end }}
{{- end -}}

{{- define "gatewall.spread" -}}
topologySpreadConstraints:
  {{- range tuple "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "gatewall.selector" $.root | nindent 8 }}
        app.kubernetes.io/component: {{ $.component }}
  {{- end }}
{{- end -}}

{{- define "gatewall.probes" -}}
startupProbe:
  httpGet: {path: {{ .root.Values.rootPath }}/health/live, port: http}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: {{ .root.Values.rootPath }}/health/live, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: {{ .root.Values.rootPath }}/health/ready, port: http}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}
