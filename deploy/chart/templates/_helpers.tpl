{{- define "semgate.name" -}}
{{- printf "%s-%s" .Release.Name .part | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "semgate.selector" -}}
app.kubernetes.io/name: semgate
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end -}}

{{- define "semgate.labels" -}}
{{ include "semgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "semgate.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* Keys before all tables, the operator's file, and the chart's tables at its end. */ -}}
{{- define "semgate.firewall.toml" -}}
state = "/var/lib/semgate/firewall"
audit = "/var/lib/semgate/audit.jsonl"
{{ .Values.firewall.config | trim }}

[probe]
listen = "0.0.0.0:9090"
{{- end -}}

{{- define "semgate.authority.toml" -}}
state = "/var/lib/semgate/authority"
admin = "127.0.0.1:9471"
{{ .Values.authority.config | trim }}

[probe]
listen = "0.0.0.0:9090"
{{- end -}}

{{- /* The pod of one server: .part, .Values, and .settings with its values. */ -}}
{{- define "semgate.pod" -}}
serviceAccountName: {{ include "semgate.name" (dict "Release" .Release "part" "semgate") }}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
terminationGracePeriodSeconds: {{ .settings.terminationGracePeriodSeconds | default 30 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
containers:
  - name: {{ .part }}
    image: {{ include "semgate.image" . | quote }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    args: [{{ .part }}, run, --config, /etc/semgate/{{ .part }}.toml]
    ports:
      {{- range .ports }}
      - { name: {{ .name }}, containerPort: {{ .port }} }
      {{- end }}
      - { name: probe, containerPort: 9090 }
    startupProbe:
      httpGet: { path: /healthz, port: probe }
      periodSeconds: 2
      failureThreshold: 60
    livenessProbe:
      httpGet: { path: /healthz, port: probe }
      timeoutSeconds: 2
    readinessProbe:
      httpGet: { path: /readyz, port: probe }
      periodSeconds: 5
      timeoutSeconds: 2
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: { drop: [ALL] }
    resources: {{- toYaml .settings.resources | nindent 6 }}
    volumeMounts:
      - { name: config, mountPath: /etc/semgate/{{ .part }}.toml, subPath: {{ .part }}.toml, readOnly: true }
      {{- if .settings.policies }}
      - { name: policies, mountPath: /etc/semgate/policies, readOnly: true }
      {{- end }}
      {{- range .settings.secrets }}
      - { name: {{ printf "secret-%s" . | replace "." "-" }}, mountPath: /etc/semgate/secrets/{{ . }}, readOnly: true }
      {{- end }}
      - { name: state, mountPath: /var/lib/semgate }
volumes:
  - name: config
    configMap: { name: {{ include "semgate.name" . }} }
  {{- if .settings.policies }}
  - name: policies
    configMap: { name: {{ include "semgate.name" . }}-policies }
  {{- end }}
  {{- range .settings.secrets }}
  - name: {{ printf "secret-%s" . | replace "." "-" }}
    secret: { secretName: {{ . }}, defaultMode: 0440 }
  {{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Everything of one server. */ -}}
{{- define "semgate.server" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "semgate.name" . }}
  labels: {{- include "semgate.labels" . | nindent 4 }}
data:
  {{ .part }}.toml: | {{- .toml | nindent 4 }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "semgate.name" . }}
  labels: {{- include "semgate.labels" . | nindent 4 }}
  {{- with .settings.service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .settings.service.type }}
  selector: {{- include "semgate.selector" . | nindent 4 }}
  ports:
    {{- range .ports }}
    - { name: {{ .name }}, port: {{ .port }}, targetPort: {{ .name }} }
    {{- end }}
---
# of the pods themselves: where metrics are scraped
apiVersion: v1
kind: Service
metadata:
  name: {{ include "semgate.name" . }}-pods
  labels: {{- include "semgate.labels" . | nindent 4 }}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {{- include "semgate.selector" . | nindent 4 }}
  ports:
    - { name: probe, port: 9090, targetPort: probe }
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ include "semgate.name" . }}
  labels: {{- include "semgate.labels" . | nindent 4 }}
spec:
  serviceName: {{ include "semgate.name" . }}-pods
  replicas: {{ .settings.replicas | default 1 }}
  podManagementPolicy: Parallel
  selector:
    matchLabels: {{- include "semgate.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "semgate.labels" . | nindent 8 }}
      annotations:
        # another configuration is another pod
        semgate.dev/config: {{ .toml | sha256sum }}
    spec: {{- include "semgate.pod" . | nindent 6 }}
  volumeClaimTemplates:
    - metadata: { name: state }
      spec:
        accessModes: [ReadWriteOnce]
        {{- with .settings.state.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources: { requests: { storage: {{ .settings.state.size }} } }
{{- if .Values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "semgate.name" . }}
  labels: {{- include "semgate.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .Values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels: {{- include "semgate.selector" . | nindent 6 }}
{{- end }}
{{- if .Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "semgate.name" . }}
  labels: {{- include "semgate.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "semgate.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports:
        {{- range .ports }}
        - { port: {{ .name }} }
        {{- end }}
      {{- with .Values.networkPolicy.callers }}
      from: {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- with .Values.networkPolicy.monitors }}
    - ports:
        - { port: probe }
      from: {{- toYaml . | nindent 8 }}
    {{- end }}
  egress:
    {{- with .Values.networkPolicy.egress }}
    - to: {{- toYaml . | nindent 8 }}
    {{- else }}
    - {}
    {{- end }}
{{- end }}
{{- if .Values.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "semgate.name" . }}
  labels: {{- include "semgate.labels" . | nindent 4 }}
    {{- with .Values.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels: {{- include "semgate.selector" . | nindent 6 }}
  endpoints:
    - { port: probe, path: /metrics, interval: {{ .Values.serviceMonitor.interval }} }
{{- end }}
{{- end -}}
