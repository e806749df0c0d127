from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0004_shadow_index'),
    ]

    operations = [
        migrations.AddField(
            model_name='accesslog',
            name='waf_score',
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='accesslog',
            name='would_refuse',
            field=models.BooleanField(null=True),
        ),
    ]
