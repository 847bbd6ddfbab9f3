import django.db.models.deletion
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Upper

SEARCH_TEXT = r"""
CREATE OR REPLACE FUNCTION tiebreak_search_text(inputs json, outputs json) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $body$
DECLARE
    given json;
    raw text;
    parts text := '';
BEGIN
    FOREACH given IN ARRAY ARRAY[inputs, outputs] LOOP
        raw := given::text;
        IF raw IS NULL OR raw IN ('null', '{}') THEN
            CONTINUE;
        END IF;
        IF raw ~ '\\u(0000|[dD][89a-fA-F])' THEN
            raw := regexp_replace(raw, '\\u0000', '\\ufffd', 'g');
            raw := regexp_replace(
                raw, '\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])', '\\ufffd', 'g');
            raw := regexp_replace(
                raw, '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}',
                '\\ufffd', 'g');
        END IF;
        BEGIN
            parts := concat_ws(E'\n', NULLIF(parts, ''), (
                SELECT string_agg(leaf #>> '{}', E'\n') FROM jsonb_path_query(raw::jsonb,
                    'strict $.** ? (@.type() != "object" && @.type() != "array")') AS leaf));
        EXCEPTION WHEN OTHERS THEN
            parts := concat_ws(E'\n', NULLIF(parts, ''), raw);
        END;
    END LOOP;
    RETURN left(parts, 20000);
END
$body$
"""


def reference(to, name, **more):
    return models.ForeignKey(
        db_constraint=False,
        on_delete=django.db.models.deletion.CASCADE,
        related_name=name,
        to=to,
        **more,
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("experiments", "0011_game_by_hand")]

    operations = [
        migrations.RunSQL(SEARCH_TEXT, "DROP FUNCTION tiebreak_search_text(json, json)"),
        migrations.AlterField("examplerevision", "search", models.TextField(default="", null=True)),
        AddIndexConcurrently(
            "examplerevision",
            GinIndex(
                OpClass(Upper("search"), name="gin_trgm_ops"),
                condition=Q(search__isnull=False),
                name="revision_searchable",
            ),
        ),
        RemoveIndexConcurrently("examplerevision", "revision_search"),
        AddIndexConcurrently(
            "examplerevision",
            GinIndex(
                condition=Q(search__isnull=False),
                fields=["metadata"],
                name="revision_described",
                opclasses=["jsonb_path_ops"],
            ),
        ),
        RemoveIndexConcurrently("examplerevision", "revision_metadata"),
        AddIndexConcurrently(
            "examplerevision",
            models.Index(
                fields=["dataset", "id"], condition=Q(search=None), name="revision_unsearched"
            ),
        ),
        migrations.AlterField(
            "example",
            "dataset",
            reference("experiments.dataset", "examples", db_index=False),
        ),
        migrations.AlterField(
            "examplerevision", "example", reference("experiments.example", "revisions")
        ),
        migrations.AlterField(
            "examplerevision",
            "dataset",
            reference("experiments.dataset", "revisions", db_index=False),
        ),
        migrations.AlterField(
            "examplepayload",
            "revision",
            models.OneToOneField(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                primary_key=True,
                related_name="payload",
                serialize=False,
                to="experiments.examplerevision",
            ),
        ),
    ]
