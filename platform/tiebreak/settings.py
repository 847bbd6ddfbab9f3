"""Django's settings; what may differ between installations comes from `environment`."""

import json
import os
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from tiebreak.environment import environment, kept_secret

env = environment()

PACKAGE_DIR = Path(__file__).resolve().parent
ASSETS_DIR = PACKAGE_DIR if (PACKAGE_DIR / "templates").is_dir() else PACKAGE_DIR.parents[1]


def running_services() -> dict[str, str]:
    """Addresses of the embedded servers that `tiebreak serve` has started on this data folder."""
    try:
        return dict(json.loads((env.data_path / "services.json").read_text()))
    except (OSError, ValueError):
        return {}


def database(url: str) -> dict[str, object]:
    """Django's settings for a postgresql:// address; the host may be a folder with a socket."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(
            "TIEBREAK_DATABASE_URL must look like postgresql://user:password@host:5432/name"
        )
    query = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "tiebreak",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", None) or unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,
        "OPTIONS": {
            # A process that was frozen inside a transaction must not hold its locks for ever.
            "options": "-c idle_in_transaction_session_timeout=20s",
            # Only for the statements of `experiments.columns`; Django's own are never prepared.
            "prepare_threshold": 1,
            **query,
            "pool": {"min_size": 0, "max_size": env.database_pool, "timeout": 8},
        },
    }


services = running_services()
DATABASE_URL = env.database_url or services.get("database_url", "")
BROKER_URL = env.broker_url or services.get("broker_url", "")

SECRET_KEY = env.secret_key or kept_secret(env.data_path)
DEBUG = env.debug
ALLOWED_HOSTS = [host.strip() for host in env.allowed_hosts.split(",") if host.strip()]
CSRF_TRUSTED_ORIGINS = [env.public_url] if env.public_url else []

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "drf_spectacular",
    "tiebreak.accounts",
    "experiments",
    "tiebreak",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "tiebreak.web.compression.PageCompressionMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "tiebreak.web.http.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "tiebreak.accounts.middleware.WorkspaceMiddleware",
]

ROOT_URLCONF = "tiebreak.urls"
WSGI_APPLICATION = "tiebreak.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ASSETS_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "tiebreak.web.http.site",
            ],
            "builtins": ["template_partials.templatetags.partials"],
        },
    },
]

DATABASES = {"default": database(DATABASE_URL or "postgresql:///tiebreak")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"


def cache_location(url: str) -> str:
    """Celery's spelling of a Redis socket address, in the spelling of the Redis client."""
    return url.replace("redis+socket://", "unix://", 1).replace("virtual_host=", "db=")


CACHES = (
    {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": cache_location(BROKER_URL),
            "KEY_PREFIX": "tiebreak",
        }
    }
    if BROKER_URL.startswith(("redis", "unix"))
    else {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
)

AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "dataset_list"
LOGOUT_REDIRECT_URL = "sign_in"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.secure_cookies
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_NAME = "tiebreak_session"
CSRF_COOKIE_NAME = "tiebreak_csrf"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LANGUAGE_CODE = "en"
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False

STATIC_URL = "/static/"
STATICFILES_DIRS = [ASSETS_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
APPEND_SLASH = False

DATA_UPLOAD_MAX_MEMORY_SIZE = None
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
FILE_UPLOAD_TEMP_DIR = None

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tiebreak.api.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["tiebreak.api.authentication.RoleAllows"],
    "DEFAULT_THROTTLE_CLASSES": ["tiebreak.api.throttling.KeyThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["tiebreak.api.wire.WireRenderer"],
    "DEFAULT_PARSER_CLASSES": ["tiebreak.api.wire.WireParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "tiebreak.api.wire.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tiebreak API",
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
}

CELERY_BROKER_URL = BROKER_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# A lane gives itself back after twenty seconds, so an hour is far longer than any task.
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {"visibility_timeout": 3600, "unacked_restore_interval": 5, "unacked_restore_throttle": 1}
    if BROKER_URL.startswith("redis")
    else {}
)

PRIVATE_MODEL_HOSTS = env.private_hosts()
FILES_PATH = env.files_path
ATTACHMENTS_BUCKET = env.attachments_bucket
ATTACHMENTS_ENDPOINT = env.attachments_endpoint
REQUESTS_PER_MINUTE = env.requests_per_minute
INGEST_REQUESTS_PER_MINUTE = env.ingest_requests_per_minute
MAX_BODY_BYTES = env.max_body_mb * 1024 * 1024
MAX_UPLOAD_BYTES = env.max_upload_mb * 1024 * 1024

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": os.environ.get("TIEBREAK_LOG_LEVEL", "WARNING")},
}
