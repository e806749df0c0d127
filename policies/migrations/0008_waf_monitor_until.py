from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('policies', '0007_expectations'),
    ]

    operations = [
        migrations.AddField(
            model_name='authorizeddomain',
            name='waf_monitor_until',
            field=models.DateTimeField(blank=True, help_text='Until then the WAF refuses nothing at this domain: it records what it would refuse.', null=True),
        ),
        migrations.AddField(
            model_name='authorizeddomain',
            name='waf_monitor_reported',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
