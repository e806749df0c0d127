from django.db import migrations, models

from gatewall.database.online_index import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False  # built beside its use

    dependencies = [
        ('audit', '0003_shadow_column'),
    ]

    operations = [
        AddIndexOnline(
            model_name='accesslog',
            index=models.Index(condition=models.Q(('shadow__isnull', False)), fields=['at', 'decision_id'], name='access_log_by_shadow'),
        ),
    ]
